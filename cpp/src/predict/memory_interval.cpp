#include "memory_interval.h"

namespace latpred {
namespace {

// Weights and inputs are counted exactly, and activations as the graph says; Python code that holds on to a tensor
// differs. Their two shares are what the largest batches of timm's tables ask for in families outside the test part,
// see docs/memory.md. Contexts of 200 to 700 MB are reported for drivers whose typical size is 300 MB; scratch of
// convolution libraries depends on the algorithm that they pick, from none to twice our rule; the allocator's packing
// differs a little from ours.
constexpr double kActivationsBelow = 0.10;
constexpr double kActivationsAbove = 0.20;
constexpr double kContextBelow = 0.30;
constexpr double kContextAbove = 0.70;
constexpr double kWorkspaceBelow = 0.50;
constexpr double kWorkspaceAbove = 1.00;
constexpr double kAllocatorShare = 0.25;

}  // namespace

Interval memory_interval(const MemoryEstimate& memory) {
  if (memory.process_upper_bytes > 0) return {memory.process_lower_bytes, memory.process_upper_bytes};
  const double below = kActivationsBelow * memory.activations_peak_bytes + kContextBelow * memory.context_bytes +
                       kWorkspaceBelow * memory.workspace_bytes + kAllocatorShare * memory.allocator_bytes;
  const double above = kActivationsAbove * memory.activations_peak_bytes + kContextAbove * memory.context_bytes +
                       kWorkspaceAbove * memory.workspace_bytes + kAllocatorShare * memory.allocator_bytes;
  return {memory.total_bytes - below, memory.total_bytes + above};
}

}  // namespace latpred
