#pragma once

#include "latpred/features.h"

namespace latpred {

// L2 moves two to four times what the memory does (A100 and H200: about three).
inline constexpr double kL2BandwidthMultiple = 3;

[[nodiscard]] bool runs_matrix_product(const Kernel& kernel);
// The same, and its sizes are known.
[[nodiscard]] bool is_product(const Kernel& kernel);

// Whether the kernel's arithmetic has units of its own on `device`, beyond the general ones.
[[nodiscard]] bool uses_tensor_cores(const Kernel& kernel, const Device& device);

// How many times fewer multiplications Winograd's algorithms need for a kernel than its definition: for 3 x 3
// convolutions with stride 1 at float32, in whole tiles of 4 x 4 or 2 x 2 outputs, whichever saves more; 1 for
// everything else. cuDNN runs both, as the names of NeuSight's kernels show.
[[nodiscard]] double winograd_saving(const Kernel& kernel, const Device& device);

// Flops per second that a long run holds on the partition, on the units that the kernel runs on.
[[nodiscard]] double sustained_peak(const Kernel& kernel, const Device& device, const Partition& partition);

}  // namespace latpred
