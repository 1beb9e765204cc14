#pragma once

#include <cstdint>

#include "latpred/graph.h"
#include "latpred/kernel.h"

namespace latpred {

// Kernels that no operator of the graph stands for.

// Autocast's copy of `tensor`.
[[nodiscard]] Kernel cast_kernel(const Tensor& tensor, double bytes_read, double bytes_written, std::int64_t repeat);

// `tensor`, put in the order that the kernel reads whose arithmetic is given; it reads more than it writes where it
// casts.
[[nodiscard]] Kernel copy_kernel(const Tensor& tensor, double bytes_read, double bytes_written, Arithmetic arithmetic,
                                 std::int64_t repeat);

// The addition of the bias to what a product or convolution made.
[[nodiscard]] Kernel bias_kernel(const Node& node, const Tensor& result, double bytes, Arithmetic of_product);

// What the kernel `norm` of `node` needs to know of `input` before it begins.
[[nodiscard]] Kernel statistics_kernel(const Node& node, const Tensor& input, const Kernel& norm);

}  // namespace latpred
