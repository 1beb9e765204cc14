#include "latpred/energy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "latpred/error.h"
#include "latpred/quantile.h"
#include "latpred/text.h"
#include "network_power.h"
#include "power_coefficients.h"
#include "power_model.h"

namespace latpred {
namespace {

constexpr std::string_view kFittedBoard = "H200-SXM-141GB";
// The mean log errors on language models of three pairs of board and source (A100 in splitwise-sim -0.10, A100 +0.16
// and H100 +0.27 in LLM-Inference-Bench) are this as root mean square: docs/energy.md.
constexpr double kOtherBoardLogSd = 0.19;
// Of kernels whose power is known from networks: how far off networks left out were at measured times, doubled, since
// here the times are predicted.
constexpr double kOtherKindLogSd = 2 * kNetworkPowerLogSd;

// What was read kernel by kernel: products and attention in half precision.
bool was_read_alone(const Kernel& kernel) {
  const bool is_kind =
      kernel.kind == CostKind::matmul || kernel.kind == CostKind::batch_matmul || kernel.kind == CostKind::attention;
  return is_kind && (kernel.arithmetic == Arithmetic::bf16 || kernel.arithmetic == Arithmetic::fp16);
}

// `other_share`: of the time, in kernels that were not read alone.
double power_log_half_width(const Device& device, double other_share) {
  const double board = device.name == kFittedBoard ? 0 : kNormal80 * kOtherBoardLogSd;
  return std::hypot(kPowerLogHalfWidth * (1 - other_share), board, kNormal80 * kOtherKindLogSd * other_share);
}

std::string_view power_provenance(const Device& device, const Partition& partition, double other_share) {
  if (device.name != kFittedBoard || !partition.name.empty()) return "modelled";
  return other_share > 0 ? "extrapolated" : "fitted";
}

// What one execution moves between memory and chip: a working set that fits stays in L2, and so do weights when those
// of the whole call fit.
double memory_bytes(const Kernel& kernel, double l2_bytes, bool weights_fit) {
  const double activations = kernel.bytes() <= l2_bytes ? 0 : kernel.bytes_in + kernel.bytes_out;
  return activations + (weights_fit ? 0 : kernel.weight_bytes);
}

}  // namespace

std::optional<EnergyEstimate> estimate_energy(const Kernels& kernels, const Features& features,
                                              const std::vector<double>& kernel_s, double latency_s,
                                              const Device& device, const Partition& partition) {
  if (features.physics.size() != kernels.rows.size() || kernel_s.size() != kernels.rows.size()) {
    throw InvalidArgumentError(concat("energy of ", kernels.rows.size(), " kernels: got features of ",
                                      features.physics.size(), " and times of ", kernel_s.size(),
                                      "; give one of each for every kernel"));
  }
  // No processor's power was ever measured against this model.
  if (!device.power_limit_w || !device.is_gpu) return std::nullopt;
  const PowerBudget budget = power_budget(device, partition);
  const double l2_bytes = device.l2_bytes.value_or(0) * partition.l2_share;
  const double weight_bytes =
      std::accumulate(kernels.rows.begin(), kernels.rows.end(), 0.0,
                      [](double sum, const Kernel& kernel) { return sum + kernel.weight_bytes; });
  double energy_j = 0;
  double running_s = 0;
  double other_s = 0;
  for (std::size_t i = 0; i < kernels.rows.size(); ++i) {
    const Kernel& kernel = kernels.rows[i];
    const double once_s = kernel_s[i] / static_cast<double>(kernel.repeat);
    if (!(once_s > 0)) continue;
    Activity activity;
    activity.kind = kernel.kind;
    activity.compute_share = partition.sm_share * std::min(1.0, features.physics[i].compute_s / once_s);
    activity.memory_share = std::min(partition.bandwidth_bytes_per_s(device),
                                     memory_bytes(kernel, l2_bytes, weight_bytes <= l2_bytes) / once_s) /
                            device.bandwidth_bytes_per_s;
    activity.busy_share = std::max(0.0, 1 - kLaunchSeconds / once_s);
    activity.was_read_alone = was_read_alone(kernel);
    energy_j += kernel_power_w(budget, activity) * kernel_s[i];
    running_s += kernel_s[i];
    if (!activity.was_read_alone) other_s += kernel_s[i];
  }
  energy_j += gap_power_w(budget) * std::max(0.0, latency_s - running_s);

  EnergyEstimate estimate;
  estimate.lower_j = budget.idle_w * latency_s;
  estimate.upper_j = budget.limit_w * latency_s;
  estimate.energy_j = std::clamp(energy_j, estimate.lower_j, estimate.upper_j);
  estimate.mean_power_w = latency_s > 0 ? estimate.energy_j / latency_s : budget.idle_w;
  const double other_share = running_s > 0 ? other_s / running_s : 0;
  estimate.power_log_half_width = power_log_half_width(device, other_share);
  estimate.provenance = power_provenance(device, partition, other_share);
  return estimate;
}

std::string_view energy_provenance(const EnergyEstimate& estimate, std::string_view latency_provenance) {
  constexpr std::array<std::string_view, 5> kFromBestToWorst{"measured", "fitted", "interpolated", "extrapolated",
                                                             "modelled"};
  return *std::max(std::find(kFromBestToWorst.begin(), kFromBestToWorst.end() - 1, estimate.provenance),
                   std::find(kFromBestToWorst.begin(), kFromBestToWorst.end() - 1, latency_provenance));
}

}  // namespace latpred
