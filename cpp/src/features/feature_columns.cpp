#include <algorithm>
#include <cmath>

#include "column_values.h"
#include "physics.h"
#include "tiles.h"

namespace latpred {
namespace {

constexpr double kMicro = 1e-6;

// Ratios further apart than 2^30 say no more than that one side is negligible.
constexpr double kLog2Limit = 30;

double log2_of(double value) {
  if (!(value > 0)) return -kLog2Limit;
  return std::clamp(std::log2(value), -kLog2Limit, kLog2Limit);
}
double share(double part, double whole) { return whole > 0 ? part / whole : 0.0; }

const KernelPhysics& physics_of(const KernelOnDevice& input, KernelPhysics& made) {
  if (input.physics != nullptr) return *input.physics;
  made = kernel_physics(input);
  return made;
}

using In = const KernelOnDevice&;

template <typename Compute>
double with_physics(In input, Compute compute) {
  KernelPhysics made;
  return compute(physics_of(input, made));
}

double l2_bytes(In input) { return input.device.l2_bytes.value_or(0) * input.partition.l2_share; }

double compute_over_memory(In input) {
  return with_physics(
      input, [](const KernelPhysics& p) { return p.memory_s > 0 ? log2_of(p.compute_s / p.memory_s) : kLog2Limit; });
}
double roofline(In input) {
  return with_physics(input, [](const KernelPhysics& p) { return log2_of(p.roofline_s / kMicro); });
}
// The roofline when a working set that fits comes from L2, over the roofline from memory.
double l2_roofline(In input) {
  if (input.kernel.bytes() > l2_bytes(input)) return 0.0;
  return with_physics(input, [](const KernelPhysics& p) {
    return p.roofline_s > 0 ? log2_of(std::max(p.compute_s, p.memory_s / kL2BandwidthMultiple) / p.roofline_s) : 0.0;
  });
}
double tile_efficiency(In input) {
  return choose_tiling(input.kernel, uses_tensor_cores(input.kernel, input.device), input.partition.sms)
      .tile_efficiency;
}
double peak_ratio(In input) {
  const auto fp32 = input.device.peak_flops_per_s(Arithmetic::fp32);
  const double own = sustained_peak(input.kernel, input.device, input.partition);
  return fp32 ? log2_of(own / (*fp32 * input.device.sustained_share.value * input.partition.sm_share)) : 0.0;
}
double sm_limited_bandwidth(In input) {
  const double granted = input.partition.bandwidth_share * input.device.bandwidth_bytes_per_s;
  return log2_of(input.partition.bandwidth_bytes_per_s(input.device) / granted);
}

}  // namespace

// Relative quantities only, so that a partition or an unseen device needs no new weights. Append only.
const std::vector<FeatureColumn>& feature_columns() {
  static const std::vector<FeatureColumn> columns{
      {"kind", "id", "cost kind", [](In in) { return static_cast<double>(in.kernel.kind); }},
      {"arithmetic", "id", "arithmetic of the kernel", [](In in) { return static_cast<double>(in.kernel.arithmetic); }},
      {"compute_over_memory", "log2", "compute time over memory time", compute_over_memory},
      {"roofline", "log2 us", "size of the kernel as roofline time", roofline},
      {"waves", "log2", "rounds of output tiles over the SMs, rounded up",
       [](In in) { return with_physics(in, [](const KernelPhysics& p) { return log2_size(p.waves); }); }},
      {"tiles_per_sm", "log2", "output tiles for each SM, not rounded; 0 where the kernel is no matrix product",
       [](In in) {
         return with_physics(
             in, [&](const KernelPhysics& p) { return p.tiles > 0 ? log2_of(p.tiles / in.partition.sms) : 0.0; });
       }},
      {"wave_efficiency", "share", "slots of the waves that hold a tile",
       [](In in) { return with_physics(in, [](const KernelPhysics& p) { return p.wave_efficiency; }); }},
      {"tile_efficiency", "share", "area of the tiles that is output", tile_efficiency},
      {"m", "log2", "rows of the matrix product", [](In in) { return log2_size(in.kernel.m); }},
      {"n", "log2", "columns of the matrix product", [](In in) { return log2_size(in.kernel.n); }},
      {"k", "log2", "inner size of the matrix product", [](In in) { return log2_size(in.kernel.k); }},
      {"gemm_batch", "log2", "independent matrix products", [](In in) { return log2_size(in.kernel.gemm_batch); }},
      {"groups", "log2", "groups of the convolution", [](In in) { return log2_size(in.kernel.groups); }},
      {"window", "log2", "elements of the window", [](In in) { return log2_size(in.kernel.window); }},
      {"stride", "log2", "product of the strides", [](In in) { return log2_size(in.kernel.stride); }},
      {"n_by_8", "0 or 1", "n is a multiple of 8", [](In in) { return is_multiple(in.kernel.n, 8); }},
      {"k_by_8", "0 or 1", "k is a multiple of 8", [](In in) { return is_multiple(in.kernel.k, 8); }},
      {"n_used_64", "share", "n over n rounded up to 64", [](In in) { return used_share(in.kernel.n, 64); }},
      {"k_used_64", "share", "k over k rounded up to 64", [](In in) { return used_share(in.kernel.k, 64); }},
      {"bytes_over_l2", "log2", "bytes moved over the partition's L2; 0 where the L2 is unknown",
       [](In in) { return l2_bytes(in) > 0 ? log2_of(in.kernel.bytes() / l2_bytes(in)) : 0.0; }},
      {"l2_roofline", "log2", "roofline with the working set in L2 over the roofline; 0 where it does not fit",
       l2_roofline},
      {"peak_ratio", "log2", "peak of the units that run it over the fp32 peak", peak_ratio},
      {"tensor_cores", "0 or 1", "runs on tensor cores",
       [](In in) { return uses_tensor_cores(in.kernel, in.device) ? 1.0 : 0.0; }},
      {"sm_share", "share", "SMs of the partition", [](In in) { return in.partition.sm_share; }},
      {"sm_limited_bandwidth", "log2", "bandwidth that the SMs can pull over what is granted", sm_limited_bandwidth},
      {"input_share", "share", "bytes read as activations",
       [](In in) { return share(in.kernel.bytes_in, in.kernel.bytes()); }},
      {"weight_share", "share", "bytes read as weights",
       [](In in) { return share(in.kernel.weight_bytes, in.kernel.bytes()); }},
      {"output_share", "share", "bytes written", [](In in) { return share(in.kernel.bytes_out, in.kernel.bytes()); }},
  };
  return columns;
}

}  // namespace latpred
