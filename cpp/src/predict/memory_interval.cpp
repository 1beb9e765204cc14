#include "memory_interval.h"

namespace latpred {
namespace {

// Weights, inputs and activations are counted exactly; what is uncertain is what surrounds them. Contexts of 200 to
// 700 MB are reported for drivers whose typical size is 300 MB; scratch of convolution libraries depends on the
// algorithm that they pick, from none to twice our rule; the allocator's packing differs a little from ours.
constexpr double kContextBelow = 0.30;
constexpr double kContextAbove = 0.70;
constexpr double kWorkspaceBelow = 0.50;
constexpr double kWorkspaceAbove = 1.00;
constexpr double kAllocatorShare = 0.25;

}  // namespace

Interval memory_interval(const MemoryEstimate& memory) {
  const double below = kContextBelow * memory.context_bytes + kWorkspaceBelow * memory.workspace_bytes +
                       kAllocatorShare * memory.allocator_bytes;
  const double above = kContextAbove * memory.context_bytes + kWorkspaceAbove * memory.workspace_bytes +
                       kAllocatorShare * memory.allocator_bytes;
  return {memory.total_bytes - below, memory.total_bytes + above};
}

}  // namespace latpred
