#pragma once

#include "latpred/kernel.h"

namespace latpred {

// Which of their kernels PyTorch and the libraries that it calls take for `row`, whose sizes are filled in.

// A depth-wise convolution that PyTorch does not give to cuDNN.
[[nodiscard]] bool is_native_depthwise(const Kernel& row);

// A product of 16-bit numbers of which not all rows begin at multiples of 16 bytes.
[[nodiscard]] bool is_unaligned(const Kernel& row);

}  // namespace latpred
