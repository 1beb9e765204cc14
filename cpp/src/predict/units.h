#pragma once

#include "latpred/device.h"
#include "latpred/kernel.h"

namespace latpred {

// The arithmetic that `kernel` really runs at: its own where the device has such units, else float32's.
[[nodiscard]] inline Arithmetic executed_arithmetic(const Kernel& kernel, const Device& device) {
  return has_units(device, kernel.arithmetic) ? kernel.arithmetic : Arithmetic::fp32;
}

}  // namespace latpred
