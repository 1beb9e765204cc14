#pragma once

#include <vector>

#include "inlined_nodes.h"
#include "latpred/graph.h"
#include "latpred/operators.h"
#include "latpred/views.h"
#include "repeated.h"

namespace latpred {

// What Inductor does with one node.
struct InductorNode {
  // Of a library's kernel: inputs that do not lie as it reads them.
  std::vector<TensorId> misplaced_inputs;
  // A generated kernel adds the bias to what a library made.
  bool adds_bias = false;
  // Generated kernels add it: that one, or all that read what the library made.
  bool generates_bias = false;
  // The statistics of a norm are a kernel of their own, which reads all that the norm reads: a group is too long for
  // one block of threads, or does not lie in its own order.
  bool reads_twice = false;
  // So many parts are put together that they are copied first.
  bool is_long_concatenation = false;
  // It puts elements elsewhere, or is computed where that is done.
  bool moves = false;
};

// What Inductor decides about a graph before it fuses: which of PyTorch's nodes disappear, in which order images lie,
// what libraries are given. `benchmarks/inductor.py` compares the kernels that follow from it with Inductor's own.
struct InductorPlan {
  bool moves_channels_last = false;  // convolutions are given channels-last images
  std::vector<InductorNode> nodes;   // [nodes] nothing for views
  std::vector<bool> written;         // [tensors] norms that are written in front of an activation

  // Whether `position` moves elements of `memory`, which is written instead of an activation: two kernels.
  [[nodiscard]] bool is_apart(NodeId position, TensorId memory) const {
    return written[memory] && nodes[position].moves;
  }
};

// `inlined` and `repeated`: what became of the graph's nodes; `views` holds the former already.
[[nodiscard]] InductorPlan plan_inductor(const Graph& graph, const std::vector<CostKind>& kinds, const ViewInfo& views,
                                         InlinedNodes inlined, const Repeated& repeated);

}  // namespace latpred
