#pragma once

#include "latpred/kernel.h"

namespace latpred {

// How a matrix product is cut over SMs.
struct Tiling {
  double tiles = 0;            // of all products of the kernel; 0 where it is none
  double waves = 0;            // rounds of one tile for each SM
  double wave_efficiency = 1;  // share of the waves' slots that hold a tile
  double tile_efficiency = 1;  // share of the tiles' area that is output
  double time_factor = 1;      // >= 1: over the time at full rate, were nothing rounded up
};

// The output tile that loses least on `sms` SMs, as the libraries' heuristics choose.
[[nodiscard]] Tiling choose_tiling(const Kernel& kernel, bool tensor_cores, double sms);

}  // namespace latpred
