#include "power_model.h"

#include <algorithm>

#include "network_power.h"
#include "power_coefficients.h"

namespace latpred {
namespace {

double per_compute(CostKind kind) {
  return kind == CostKind::attention ? kComputeAttentionShare : kComputeProductShare;
}

}  // namespace

PowerBudget power_budget(const Device& device, const Partition& partition) {
  PowerBudget budget;
  budget.sm_share = partition.sm_share;
  budget.idle_w = device.idle_power_w.value * partition.sm_share;
  budget.dynamic_w = device.power_limit_w.value() - device.idle_power_w.value;
  // Under MPS a few SMs can keep the whole memory busy: the larger of both shares bounds what the part draws.
  const double bandwidth_share = partition.bandwidth_bytes_per_s(device) / device.bandwidth_bytes_per_s;
  budget.limit_w = budget.idle_w + budget.dynamic_w * std::max(partition.sm_share, bandwidth_share);
  return budget;
}

double kernel_power_w(const PowerBudget& budget, const Activity& activity) {
  const double on_sms = activity.was_read_alone ? kActiveShare : kNetworkActiveShare;
  const double per_memory = activity.was_read_alone ? kMemoryShare : kNetworkMemoryShare;
  const double active = kGapShare + activity.busy_share * (on_sms - kGapShare);
  const double share = budget.sm_share * active + per_compute(activity.kind) * activity.compute_share +
                       per_memory * activity.memory_share;
  return std::min(budget.limit_w, budget.idle_w + budget.dynamic_w * share);
}

double gap_power_w(const PowerBudget& budget) {
  return std::min(budget.limit_w, budget.idle_w + budget.dynamic_w * budget.sm_share * kGapShare);
}

}  // namespace latpred
