#include "physics.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "latpred/error.h"
#include "latpred/text.h"
#include "tiles.h"

namespace latpred {
namespace {

// Kinds whose work is matrix products, and so runs on tensor cores. A depth-wise convolution has one channel in each
// product and stays on the general units, like everything element-wise.
constexpr std::array kMatrixKinds{
    CostKind::conv,         CostKind::conv_1x1,  CostKind::conv_grouped, CostKind::matmul,
    CostKind::batch_matmul, CostKind::attention, CostKind::recurrent,
};

struct TensorCoreArithmetic {
  Arithmetic arithmetic;
  std::optional<double> Device::* peak;  // known where the device's tensor cores do it
};
constexpr std::array<TensorCoreArithmetic, 4> kTensorCoreArithmetics{{
    {Arithmetic::tf32, &Device::tf32_flops_per_s},
    {Arithmetic::fp16, &Device::fp16_flops_per_s},
    {Arithmetic::bf16, &Device::bf16_flops_per_s},
    {Arithmetic::int8, &Device::int8_ops_per_s},
}};

// F(t x t, 3 x 3): tiles of t x t outputs take (t + 2)^2 multiplications instead of 9 t^2.
struct WinogradTile {
  double side;
  double saving;
};
constexpr std::array<WinogradTile, 2> kWinogradTiles{{{4, 4}, {2, 2.25}}};

bool has_winograd(const Kernel& kernel, const Device& device) {
  return kernel.kind == CostKind::conv && kernel.is_3x3 && kernel.stride == 1 && kernel.positions > 0 &&
         (kernel.arithmetic == Arithmetic::fp32 || !has_units(device, kernel.arithmetic));
}

}  // namespace

bool runs_matrix_product(const Kernel& kernel) {
  return std::find(kMatrixKinds.begin(), kMatrixKinds.end(), kernel.kind) != kMatrixKinds.end();
}

bool is_product(const Kernel& kernel) {
  return runs_matrix_product(kernel) && kernel.m > 0 && kernel.n > 0 && kernel.gemm_batch > 0;
}

bool uses_tensor_cores(const Kernel& kernel, const Device& device) {
  if (!runs_matrix_product(kernel) || device.tensor_cores.value_or(0) <= 0) return false;
  const auto row =
      std::find_if(kTensorCoreArithmetics.begin(), kTensorCoreArithmetics.end(),
                   [&](const TensorCoreArithmetic& known) { return known.arithmetic == kernel.arithmetic; });
  return row != kTensorCoreArithmetics.end() && (device.*row->peak).has_value();
}

double winograd_saving(const Kernel& kernel, const Device& device) {
  if (!has_winograd(kernel, device)) return 1;
  const double width = std::round(std::sqrt(kernel.positions));  // of a square image
  double saving = 1;
  for (const auto& [side, of_tile] : kWinogradTiles) {
    const double share = width / (std::ceil(width / side) * side);  // of the tiles, along one side
    saving = std::max(saving, of_tile * share * share);
  }
  return saving;
}

double sustained_peak(const Kernel& kernel, const Device& device, const Partition& partition) {
  const Arithmetic units = runs_matrix_product(kernel) ? kernel.arithmetic : Arithmetic::fp32;
  const auto peak = device.peak_flops_per_s(units);
  if (!peak) {
    throw InvalidArgumentError(
        concat("device '", device.name, "' has no peak for ", arithmetic_name(units), ": give its fp32_flops_per_s"));
  }
  return *peak * device.sustained_share.value * partition.sm_share;
}

KernelPhysics kernel_physics(const KernelOnDevice& input) {
  const Kernel& kernel = input.kernel;
  KernelPhysics physics;
  physics.peak_flops_per_s = sustained_peak(kernel, input.device, input.partition);
  physics.bandwidth_bytes_per_s = input.partition.bandwidth_bytes_per_s(input.device);
  physics.compute_s = kernel.flops / physics.peak_flops_per_s;
  physics.memory_s = kernel.bytes() / physics.bandwidth_bytes_per_s;
  physics.roofline_s = std::max(physics.compute_s, physics.memory_s);
  physics.compute_bound = physics.compute_s > physics.memory_s;
  const Tiling tiling = choose_tiling(kernel, uses_tensor_cores(kernel, input.device), input.partition.sms);
  physics.tiles = tiling.tiles;
  physics.waves = tiling.waves;
  physics.wave_efficiency = tiling.wave_efficiency;
  return physics;
}

}  // namespace latpred
