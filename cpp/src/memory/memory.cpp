#include "latpred/memory.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "allocator.h"
#include "liveness.h"
#include "runtime_memory.h"
#include "workspace.h"

namespace latpred {
namespace {

constexpr std::int64_t kAlignment = 512;  // of every piece of device memory

// Where memory is short, a real process packs worse than the simulated one. In timm's tables of 24 GB cards (families
// outside the test part) 12 to 16 % of the largest batches that ran need more than this share of the card by the
// simulation, and 43 to 47 % of the steps above them, which raised, need less: docs/memory.md.
constexpr double kPackedShare = 0.85;

std::int64_t sum(const std::vector<std::int64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
}

// The blocks that start at each step and those that end there, in order: [steps + 1] offsets into a list of blocks.
struct ByStep {
  std::vector<std::int32_t> offset;
  std::vector<std::int32_t> blocks;
};

template <typename Step>
ByStep group_by(const std::vector<MemoryBlock>& blocks, std::int32_t num_steps, Step step) {
  ByStep result;
  result.offset.assign(num_steps + 1, 0);
  for (const MemoryBlock& block : blocks) ++result.offset[step(block) + 1];
  std::partial_sum(result.offset.begin(), result.offset.end(), result.offset.begin());
  result.blocks.resize(blocks.size());
  std::vector<std::int32_t> next = result.offset;
  for (std::size_t i = 0; i < blocks.size(); ++i) result.blocks[next[step(blocks[i])]++] = static_cast<std::int32_t>(i);
  return result;
}

// Weights first, then the inputs, then what each step makes: the order of a PyTorch program that loads a network and
// calls it.
std::int64_t cached_bytes(const MemoryPlan& plan, const std::vector<MemoryBlock>& blocks, std::int64_t limit_bytes) {
  CachingAllocator allocator(limit_bytes);
  // The caller's memory is never handed back.
  for (const std::int64_t size : plan.weights) (void)allocator.allocate(size);
  for (const std::int64_t size : plan.inputs) (void)allocator.allocate(size);
  const ByStep starts = group_by(blocks, plan.num_steps, [](const MemoryBlock& block) { return block.first_step; });
  const ByStep ends = group_by(blocks, plan.num_steps, [](const MemoryBlock& block) { return block.last_step; });
  std::vector<CachingAllocator::Handle> handles(blocks.size());
  for (std::int32_t step = 0; step < plan.num_steps; ++step) {
    for (std::int32_t i = starts.offset[step]; i < starts.offset[step + 1]; ++i) {
      handles[starts.blocks[i]] = allocator.allocate(blocks[starts.blocks[i]].size_bytes);
    }
    for (std::int32_t i = ends.offset[step]; i < ends.offset[step + 1]; ++i) allocator.release(handles[ends.blocks[i]]);
  }
  return allocator.peak_reserved_bytes();
}

// What the allocator takes of a device: where it would keep more than there is, it hands cached segments back first.
std::int64_t cached_bytes_within(const MemoryPlan& plan, const std::vector<MemoryBlock>& blocks,
                                 std::int64_t capacity_bytes) {
  const std::int64_t wanted = cached_bytes(plan, blocks, std::numeric_limits<std::int64_t>::max());
  if (wanted <= capacity_bytes) return wanted;
  const auto packed_bytes = static_cast<std::int64_t>(kPackedShare * static_cast<double>(capacity_bytes));
  const std::int64_t squeezed = cached_bytes(plan, blocks, packed_bytes);
  if (squeezed > packed_bytes) return wanted;
  return std::min(wanted, static_cast<std::int64_t>(static_cast<double>(squeezed) / kPackedShare));
}

// One area for the peak, every tensor at its alignment.
std::int64_t planned_bytes(const MemoryPlan& plan, const std::vector<MemoryBlock>& blocks) {
  const auto aligned = [](std::int64_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; };
  std::vector<MemoryBlock> rounded = blocks;
  for (MemoryBlock& block : rounded) block.size_bytes = aligned(block.size_bytes);
  std::int64_t total = peak_of(rounded, plan.num_steps).size_bytes;
  for (const std::int64_t size : plan.weights) total += aligned(size);
  for (const std::int64_t size : plan.inputs) total += aligned(size);
  return total;
}

// What a process holds on a processor: by what processes of that runtime held, or, where nobody has measured any, from
// what is live up to the most that another runtime holds.
void add_process(std::string_view runtime, bool autograd, MemoryEstimate& estimate) {
  const double stored = estimate.weights_bytes;
  const double moved = estimate.inputs_bytes + estimate.activations_peak_bytes;
  const auto held = [&](const ProcessMemory& row) {
    // What is kept for a backward pass is kept as it is: copies are made of what an operator works on.
    return row.own_bytes + row.weights_factor * stored + (autograd ? 1 : row.activations_factor) * moved;
  };
  if (const std::optional<ProcessMemory>& row = runtime_memory(runtime).process) {
    estimate.context_bytes = row->own_bytes;
    estimate.total_bytes = held(*row);
    estimate.workspace_bytes = estimate.total_bytes - row->own_bytes - stored - moved;
    const double factor = std::exp(row->half_width);
    estimate.process_lower_bytes = estimate.total_bytes / factor;
    estimate.process_upper_bytes = estimate.total_bytes * factor;
    return;
  }
  estimate.process_lower_bytes = stored + moved;
  estimate.process_upper_bytes = estimate.total_bytes;
  for (const RuntimeMemory& row : runtime_memories()) {
    if (!row.process) continue;
    const double upper = held(*row.process) * std::exp(row.process->half_width);
    estimate.process_upper_bytes = std::max(estimate.process_upper_bytes, upper);
  }
}

}  // namespace

MemoryEstimate estimate_memory(const Graph& graph, const Kernels& kernels, const Device& device,
                               const MemoryRequest& request) {
  const MemoryPlan plan = plan_memory(graph, kernels, request.autograd);
  const MemoryPeak activations = peak_of(plan.blocks, plan.num_steps);
  std::vector<MemoryBlock> blocks = plan.blocks;
  const std::vector<MemoryBlock> workspace = library_workspace(graph, kernels, device);
  blocks.insert(blocks.end(), workspace.begin(), workspace.end());
  const MemoryPeak with_workspace = peak_of(blocks, plan.num_steps);

  const std::int64_t live = sum(plan.weights) + sum(plan.inputs) + with_workspace.size_bytes;
  std::int64_t reserved = live;  // on a CPU, memory goes back to the system in its own size
  if (device.is_gpu) {
    const bool is_caching = runtime_memory(kernels.runtime).arena == Arena::caching;
    const double capacity = request.capacity_bytes.value_or(device.memory_bytes) - device.context_bytes.value;
    reserved = is_caching ? cached_bytes_within(plan, blocks, static_cast<std::int64_t>(capacity))
                          : planned_bytes(plan, blocks);
  }

  MemoryEstimate estimate;
  estimate.weights_bytes = static_cast<double>(sum(plan.weights));
  estimate.inputs_bytes = static_cast<double>(sum(plan.inputs));
  estimate.activations_peak_bytes = static_cast<double>(activations.size_bytes);
  // What scratch adds to the peak: it may be reached at another step than that of the activations alone.
  estimate.workspace_bytes = static_cast<double>(with_workspace.size_bytes - activations.size_bytes);
  estimate.allocator_bytes = static_cast<double>(reserved - live);
  estimate.context_bytes = device.context_bytes.value;
  estimate.total_bytes = estimate.context_bytes + static_cast<double>(reserved);
  if (!device.is_gpu) add_process(kernels.runtime, request.autograd, estimate);
  // A cast has no node of its own: the operator behind it is meant.
  for (std::int32_t step = std::max(activations.step, 0); step < plan.num_steps && estimate.peak_node < 0; ++step) {
    if (!kernels.rows[step].members.empty()) estimate.peak_node = kernels.rows[step].members.front();
  }
  return estimate;
}

}  // namespace latpred
