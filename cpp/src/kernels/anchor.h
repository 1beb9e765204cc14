#pragma once

#include <vector>

#include "latpred/graph.h"
#include "latpred/kernel.h"

namespace latpred {

struct AnchorContext {
  const std::vector<bool>& channels_last;  // [tensors] of PyTorch's memory format; empty elsewhere
  bool calls_pytorch = false;              // for what it does not generate itself
  bool is_pytorch = false;                 // runs PyTorch's own kernels
  bool moves_channels_last = false;        // the compiler gives convolutions such images
};

// Fills in what `row` says of the node that it starts with: its product, window, positions and rows.
void describe_anchor(const Graph& graph, const Node& node, const AnchorContext& context, Kernel& row);

// The share of the operations of `node` that a kernel executes: a fused one skips the blocks of scores that causality
// hides.
[[nodiscard]] double executed_share(const Kernel& row, const Node& node);

}  // namespace latpred
