#pragma once

#include <cstdint>
#include <vector>

#include "latpred/graph.h"
#include "latpred/kernel.h"

namespace latpred {

// Memory that the runtime takes while the network runs: alive from the start of `first_step` to the end of `last_step`,
// both included. A step is a row of Kernels.
struct MemoryBlock {
  std::int64_t size_bytes = 0;
  std::int32_t first_step = 0;
  std::int32_t last_step = 0;
};

// Everything that the network allocates, in the order in which it does.
struct MemoryPlan {
  std::vector<MemoryBlock> blocks;
  std::int32_t num_steps = 0;
  // What the caller allocated before.
  std::vector<std::int64_t> weights;  // one size for each stored tensor that some node reads
  std::vector<std::int64_t> inputs;
};

// Activations of `graph` as the runtime of `kernels` executes it.
//
// PyTorch, operator by operator: an activation lives from the operator that makes it to the last one that reads it or a
// view of it; outputs of the network live to its end; inputs are the caller's. Exact for the operators that
// eager_extras.h and saved_tensors.h describe.
// A runtime that fuses: tensors inside one row are never stored.
// With `autograd`, what backward needs lives to the end; throws InvalidArgumentError for a runtime that cannot train.
[[nodiscard]] MemoryPlan plan_memory(const Graph& graph, const Kernels& kernels, bool autograd);

struct MemoryPeak {
  std::int64_t size_bytes = 0;
  std::int32_t step = -1;  // the first step at which it is reached
};
[[nodiscard]] MemoryPeak peak_of(const std::vector<MemoryBlock>& blocks, std::int32_t num_steps);

}  // namespace latpred
