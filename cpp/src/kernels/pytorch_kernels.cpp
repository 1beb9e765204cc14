#include "pytorch_kernels.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kind_sets.h"

namespace latpred {
namespace {

// What PyTorch gives to cuDNN of depth-wise convolutions whose channels are not innermost
// (check_cudnn_depthwise_workload_with_filter in ATen/native/Convolution.cpp, 1.13 to 2.9; a batch of 1 is treated as
// others are). Its own kernel runs the rest.
constexpr std::array kSquareWindows{1.0, 9.0, 25.0};
constexpr double kLeastChannels = 32;
constexpr double kLeastWidth = 7;
constexpr double kHalved = 4;  // stride 2 both ways, which is for many channels or wide images of not so few
constexpr double kManyChannels = 512;
constexpr double kSomeChannels = 256;
constexpr double kWide = 28;

bool is_given_to_cudnn(const Kernel& row) {
  const double width = std::round(std::sqrt(row.positions * row.stride));  // of a square image
  const bool is_square = std::ranges::count(kSquareWindows, row.window) > 0;
  if (row.arithmetic != Arithmetic::fp16 || !is_square) return false;
  if (row.groups < kLeastChannels || width < kLeastWidth) return false;
  if (row.stride == 1) return true;
  return row.stride == kHalved && row.window > 1 &&
         (row.groups >= kManyChannels || (row.groups >= kSomeChannels && width >= kWide));
}

// cuBLAS loads 16 bytes at once, of rows of n and k elements.
constexpr Kinds kPlainProducts = of(CostKind::matmul, CostKind::batch_matmul);
constexpr double kAlignedHalves = 8;

}  // namespace

bool is_native_depthwise(const Kernel& row) {
  return row.kind == CostKind::conv_depthwise && !row.channels_last && !is_given_to_cudnn(row);
}

bool is_unaligned(const Kernel& row) {
  const bool is_half = row.arithmetic == Arithmetic::fp16 || row.arithmetic == Arithmetic::bf16;
  return is_half && has(kPlainProducts, row.kind) &&
         (std::fmod(row.n, kAlignedHalves) != 0 || std::fmod(row.k, kAlignedHalves) != 0);
}

}  // namespace latpred
