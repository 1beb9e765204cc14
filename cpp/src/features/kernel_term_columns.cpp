#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "column_values.h"
#include "kernels/kind_sets.h"
#include "latpred/kernel_terms.h"
#include "latpred/text.h"
#include "physics.h"

namespace latpred {
namespace {

using In = const KernelInRuntime&;

// Ratios beyond these say no more than that one side is negligible.
constexpr double kLowestIntensity = -6;
constexpr double kHighestIntensity = 14;
constexpr double kLargestInOut = 6;
// Of flops where a kernel has none.
constexpr double kNoFlops = 1e-9;
// Sizes that are no multiple of it leave vectors of half precision partly empty.
constexpr double kAligned = 8;

// Kinds whose products have rows of their own: elsewhere m grows with the batch.
bool has_own_rows(In in) { return in.kernel.kind == CostKind::batch_matmul || in.kernel.kind == CostKind::attention; }
double own_rows(In in) { return has_own_rows(in) ? in.kernel.m : 0; }
double columns(In in) { return is_product(in.kernel) ? in.kernel.n : 0; }
double depth(In in) { return is_product(in.kernel) ? in.kernel.k : 0; }

double flag(bool is_set) { return is_set ? 1 : 0; }

// TensorRT lays images out with their channels padded to the vectors of its kernels (TensorFormat: kHWC8, kCHW32):
// what PyTorch pays for HRNet's 18 and 36 channels says nothing about it.
double by_8(In in, double size) { return in.runtime.pads_sizes ? 1 : is_multiple(size, kAligned); }

// Inductor writes these from one template; ATen has a kernel for each, of which some are slow.
constexpr Kinds kFromOneTemplate = kInlined & ~of(CostKind::index, CostKind::resize);

bool is_generated_pointwise(In in) { return in.runtime.fuses_shared && has(kFromOneTemplate, in.kernel.kind); }
double window(In in, std::size_t) { return is_generated_pointwise(in) ? 0 : log2_size(in.kernel.window); }

double intensity(In in, std::size_t) {
  const double bytes = in.kernel.bytes_in + in.kernel.bytes_out;
  return std::clamp(std::log2(std::max(in.kernel.flops, kNoFlops) / std::max(bytes, 1.0)), kLowestIntensity,
                    kHighestIntensity);
}
double in_over_out(In in, std::size_t) {
  return std::clamp(std::log2(std::max(in.kernel.bytes_in, 1.0) / std::max(in.kernel.bytes_out, 1.0)), -kLargestInOut,
                    kLargestInOut);
}
Arithmetic executed(In in) {
  const bool falls_back = runs_matrix_product(in.kernel) && !has_units(in.device, in.kernel.arithmetic);
  return falls_back ? Arithmetic::fp32 : in.kernel.arithmetic;
}
double channels_last_depthwise(In in, std::size_t) {
  return flag(in.kernel.channels_last && in.kernel.kind == CostKind::conv_depthwise);
}

// cuDNN's quick kernels for groups with the channels innermost take powers of two of them: RegNets with groups of 24,
// 40 and 56 channels take longer than those of 16 and 64 let expect, and only where the channels are innermost.
double uneven_groups(In in, std::size_t) {
  const auto channels = static_cast<std::uint64_t>(in.kernel.n);
  const bool is_power_of_2 = std::has_single_bit(channels);
  return flag(in.kernel.kind == CostKind::conv_grouped && in.kernel.channels_last && !is_power_of_2);
}

// Nor for depth-wise convolutions but of square windows up to 7 and one filter for each channel: ConvMixers with
// windows of 9 take longer with the channels innermost than outermost, those of 7 take less.
constexpr std::array kQuickWindows{1.0, 9.0, 25.0, 49.0};

double uncommon_depthwise(In in, std::size_t) {
  const Kernel& kernel = in.kernel;
  const bool is_quick = kernel.n == 1 && std::ranges::count(kQuickWindows, kernel.window) > 0;
  return flag(kernel.kind == CostKind::conv_depthwise && kernel.channels_last && !is_quick);
}

// Convolutions of channels that are no multiple of 8 have quick kernels for fp16 and none for bfloat16.
double uneven_bf16(In in, std::size_t) {
  const Kernel& kernel = in.kernel;
  const bool is_dense = kernel.kind == CostKind::conv || kernel.kind == CostKind::conv_1x1;
  const double is_even = is_multiple(kernel.n, kAligned) * is_multiple(kernel.k / kernel.window, kAligned);
  return flag(is_dense && executed(in) == Arithmetic::bf16 && is_even == 0);
}

// Runtimes that do something else with the same kernels than eager launches do.
constexpr std::array<std::string_view, 4> kOtherRuntimes{"compiled", "tensorrt", "onnxruntime", "kernel"};

std::vector<TermColumn> make_columns() {
  std::vector<TermColumn> table{
      {"n", "log2", "columns of the matrix product", [](In in, std::size_t) { return log2_size(columns(in)); }},
      {"k", "log2", "inner size of the matrix product", [](In in, std::size_t) { return log2_size(depth(in)); }},
      {"m", "log2", "rows of each product of a batch", [](In in, std::size_t) { return log2_size(own_rows(in)); }},
      {"window", "log2", "elements of the window, of generated pools none", window},
      {"stride", "log2", "product of the strides", [](In in, std::size_t) { return log2_size(in.kernel.stride); }},
      {"groups", "log2", "groups of the convolution", [](In in, std::size_t) { return log2_size(in.kernel.groups); }},
      {"intensity", "log2", "flops over activation bytes", intensity},
      {"in_over_out", "log2", "activation bytes read over written", in_over_out},
      {"n_by_8", "0 or 1", "n is a multiple of 8, or padded to one",
       [](In in, std::size_t) { return by_8(in, columns(in)); }},
      {"k_by_8", "0 or 1", "k is a multiple of 8, or padded to one",
       [](In in, std::size_t) { return by_8(in, depth(in)); }},
      {"n_used_64", "share", "n over n rounded up to 64",
       [](In in, std::size_t) { return used_share(columns(in), 64); }},
      {"k_used_64", "share", "k over k rounded up to 64", [](In in, std::size_t) { return used_share(depth(in), 64); }},
      {"m_by_8", "0 or 1", "m of each product of a batch is a multiple of 8, or padded to one",
       [](In in, std::size_t) { return by_8(in, own_rows(in)); }},
      {"masked", "0 or 1", "attention with a mask", [](In in, std::size_t) { return flag(in.kernel.masked); }},
      {"row", "log2", "elements that one result of a norm, softmax or reduction combines",
       [](In in, std::size_t) { return log2_size(in.kernel.row); }},
      {"positions", "log2", "pixels of one output image",
       [](In in, std::size_t) { return log2_size(in.kernel.positions); }},
      {"interpolates", "0 or 1", "resizing of separate channels by more than the nearest pixel",
       [](In in, std::size_t) { return flag(in.kernel.interpolates && !in.kernel.channels_last); }},
      {"members", "log2", "operators of the group",
       [](In in, std::size_t) { return log2_size(static_cast<double>(in.kernel.members.size())); }},
      {"tensor_cores", "0 or 1", "runs on tensor cores",
       [](In in, std::size_t) { return uses_tensor_cores(in.kernel, in.device) ? 1.0 : 0.0; }},
      {"channels_last", "0 or 1", "an image with the channels innermost",
       [](In in, std::size_t) { return flag(in.kernel.channels_last); }},
      {"channels_last_depthwise", "0 or 1", "a depth-wise convolution of such an image", channels_last_depthwise},
  };
  for (std::size_t id = 0; id < kOtherRuntimes.size(); ++id) {
    table.push_back({concat("runtime_", kOtherRuntimes[id]), "0 or 1", "executed by this runtime",
                     [](In in, std::size_t id) { return in.runtime.name == kOtherRuntimes[id] ? 1.0 : 0.0; }, id});
  }
  for (std::size_t id = 0; id < kNumArithmetics; ++id) {
    table.push_back({concat("arithmetic_", arithmetic_name(static_cast<Arithmetic>(id))), "0 or 1",
                     "arithmetic that the device runs it at",
                     [](In in, std::size_t id) { return static_cast<std::size_t>(executed(in)) == id ? 1.0 : 0.0; },
                     id});
  }
  for (std::size_t id = 0; id < kNumCostKinds; ++id) {
    table.push_back({concat("kind_", cost_kind_name(static_cast<CostKind>(id))), "0 or 1",
                     "cost kind, of generated point-wise kernels none",
                     [](In in, std::size_t id) {
                       return flag(!is_generated_pointwise(in) && static_cast<std::size_t>(in.kernel.kind) == id);
                     },
                     id});
  }
  table.push_back(
      {"uneven_groups", "0 or 1", "channels innermost, in groups that are no power of two of them", uneven_groups});
  table.push_back({"native_depthwise", "0 or 1", "a depth-wise convolution by PyTorch's own kernel",
                   [](In in, std::size_t) { return flag(in.kernel.is_native_depthwise); }});
  table.push_back(
      {"uncommon_depthwise", "0 or 1",
       "a depth-wise convolution, channels innermost, of another window than 1, 3, 5 or 7 squared or of more "
       "filters than channels",
       uncommon_depthwise});
  table.push_back(
      {"uneven_bf16", "0 or 1", "a bfloat16 convolution of channels that are no multiple of 8", uneven_bf16});
  table.push_back({"concatenates", "0 or 1", "a generated kernel that puts parts together and does more",
                   [](In in, std::size_t) { return flag(in.kernel.concatenates); }});
  table.push_back({"generated", "0 or 1", "a generated point-wise kernel, of whatever cost kind",
                   [](In in, std::size_t) { return flag(is_generated_pointwise(in)); }});
  table.push_back({"winograd_saving", "log2", "multiplications that Winograd's algorithms may save of the convolution",
                   [](In in, std::size_t) { return log2_size(winograd_saving(in.kernel, in.device)); }});
  table.push_back({"reads_across", "0 or 1", "eager, reads side by side what does not lie side by side",
                   [](In in, std::size_t) { return flag(in.kernel.reads_across); }});
  return table;
}

}  // namespace

const std::vector<TermColumn>& term_columns() {
  static const std::vector<TermColumn> table = make_columns();
  return table;
}

CostKind starting_kind(const KernelInRuntime& input) {
  return is_generated_pointwise(input) ? CostKind::view : input.kernel.kind;
}

void fill_term_columns(const KernelInRuntime& input, double* values) {
  for (const TermColumn& column : term_columns()) *values++ = column.compute(input, column.id);
}

}  // namespace latpred
