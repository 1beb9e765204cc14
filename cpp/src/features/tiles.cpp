#include "tiles.h"

#include <array>
#include <cmath>
#include <limits>
#include <span>

namespace latpred {
namespace {

struct Tile {
  double rows;
  double columns;
  // Of the units' peak while the tile runs: a small tile reloads its operands more often. The libraries' kernels that
  // cuBLAS and cuDNN name (128x128, 256x128, ...) settle near these; the learnt efficiencies carry the rest.
  double rate;
};

constexpr std::array<Tile, 6> kTensorCoreTiles{{
    {256, 128, 1.0},
    {128, 256, 1.0},
    {128, 128, 0.95},
    {128, 64, 0.85},
    {64, 128, 0.85},
    {64, 64, 0.7},
}};
constexpr std::array<Tile, 5> kCudaCoreTiles{{
    {128, 128, 1.0},
    {128, 64, 0.95},
    {64, 128, 0.95},
    {64, 64, 0.85},
    {32, 32, 0.6},
}};

}  // namespace

Tiling choose_tiling(const Kernel& kernel, bool tensor_cores, double sms) {
  Tiling best;
  if (kernel.m <= 0 || kernel.n <= 0 || kernel.gemm_batch <= 0) return best;
  const std::span<const Tile> tiles =
      tensor_cores ? std::span<const Tile>(kTensorCoreTiles) : std::span<const Tile>(kCudaCoreTiles);
  double least_cost = std::numeric_limits<double>::infinity();
  for (const Tile& tile : tiles) {
    const double count = kernel.gemm_batch * std::ceil(kernel.m / tile.rows) * std::ceil(kernel.n / tile.columns);
    const double waves = std::ceil(count / sms);
    const double area = tile.rows * tile.columns;
    const double cost = waves * area / tile.rate;
    if (cost >= least_cost) continue;
    least_cost = cost;
    best.tiles = count;
    best.waves = waves;
    best.wave_efficiency = count / (waves * sms);
    const double elements = kernel.gemm_batch * kernel.m * kernel.n;
    best.tile_efficiency = elements / (count * area);
    best.time_factor = cost * sms / elements;
  }
  return best;
}

}  // namespace latpred
