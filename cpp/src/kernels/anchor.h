#pragma once

#include <vector>

#include "latpred/graph.h"
#include "latpred/kernel.h"

namespace latpred {

struct AnchorContext {
  const std::vector<bool>& channels_last;  // [tensors] of PyTorch's memory format; empty elsewhere
  bool is_generated = false;               // by a compiler, which gives every element a thread of its own
  bool moves_channels_last = false;        // the compiler gives convolutions such images
};

// Fills in what `row` says of the node that it starts with: its product, window, positions and rows.
void describe_anchor(const Graph& graph, const Node& node, const AnchorContext& context, Kernel& row);

}  // namespace latpred
