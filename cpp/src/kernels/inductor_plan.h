#pragma once

#include <vector>

#include "inlined_nodes.h"
#include "latpred/graph.h"
#include "latpred/operators.h"
#include "latpred/storage.h"
#include "latpred/views.h"
#include "repeated.h"

namespace latpred {

// What Inductor decides about a graph before it fuses: which of PyTorch's nodes disappear, in which order images lie,
// what libraries are given. `benchmarks/inductor.py` compares the kernels that follow from it with Inductor's own.
class InductorPlan {
 public:
  // `views` and `storage` are changed to what is left. They and `graph` must outlive the plan.
  InductorPlan(const Graph& graph, const std::vector<CostKind>& kinds, ViewInfo& views, Storage& storage);

  // Whether convolutions are given channels-last images.
  [[nodiscard]] bool moves_channels_last() const { return moves_channels_last_; }
  // The inputs of a library's kernel that do not lie as it reads them.
  [[nodiscard]] std::vector<TensorId> misplaced_inputs(NodeId position) const;
  // Whether a generated kernel adds the bias to what a library made.
  [[nodiscard]] bool adds_bias(NodeId position) const;
  // Whether generated kernels add it, that one or all that read what the library made.
  [[nodiscard]] bool generates_bias(NodeId position) const {
    return adds_bias(position) || repeated_.repeats_bias(position);
  }
  // Whether the statistics of a norm are a kernel of their own, which reads all that the norm reads: a group is too
  // long for one block of threads, or does not lie in its own order.
  [[nodiscard]] bool reads_twice(NodeId position) const;
  // Whether `position` puts elements elsewhere, or is computed where that is done, and reads what is written instead of
  // an activation: two kernels.
  [[nodiscard]] bool is_apart(NodeId position, TensorId input) const;
  // Whether so many parts are put together that they are copied first.
  [[nodiscard]] bool is_long_concatenation(NodeId position) const;
  [[nodiscard]] const Repeated& repeated() const { return repeated_; }

 private:
  [[nodiscard]] const Node& node(NodeId position) const { return graph_.nodes[position]; }

  const Graph& graph_;
  const std::vector<CostKind>& kinds_;
  const ViewInfo& views_;
  bool is_of_pytorch_;
  bool moves_channels_last_;
  std::vector<Shape> image_strides_;  // [tensors] as images are laid out
  InlinedNodes inlined_;
  Repeated repeated_;
};

}  // namespace latpred
