#pragma once

#include <vector>

#include "latpred/graph.h"

namespace latpred {

// Bytes of `tensor` with elements of `element_bits`.
[[nodiscard]] std::int64_t stored_bytes(const Tensor& tensor, int element_bits);

// One node as PyTorch runs it.
struct EagerNode {
  const Graph& graph;
  const Node& node;
  const std::vector<Shape>& strides;           // [tensors]
  const std::vector<int>& tensor_bits;         // [tensors]
  const std::vector<bool>& requires_gradient;  // [tensors] all false where no backward pass follows

  [[nodiscard]] const Tensor& input(std::size_t index) const { return graph.tensors[node.inputs[index]]; }
  [[nodiscard]] const Tensor& output(std::size_t index) const { return graph.tensors[node.outputs[index]]; }
  [[nodiscard]] bool has_input(std::size_t index) const {
    return index < node.inputs.size() && node.inputs[index] != kAbsent;
  }
  [[nodiscard]] std::int64_t size_bytes(TensorId id) const { return stored_bytes(graph.tensors[id], tensor_bits[id]); }
  [[nodiscard]] bool asks_gradient(std::size_t index) const {
    return has_input(index) && requires_gradient[node.inputs[index]];
  }
  // Whether autograd records the node at all.
  [[nodiscard]] bool is_recorded() const;
};

// Memory that PyTorch takes for a node besides its outputs.
struct EagerExtra {
  std::int64_t size_bytes = 0;
  bool is_kept = false;           // saved for backward where the node is recorded; else freed when the node is done
  TensorId instead_of = kAbsent;  // a contiguous copy that is saved in place of this input
};

// Statistics of normalisations, indices of max poolings, log-sum-exps of attention, and the contiguous copies of
// strided inputs: what the operators of PyTorch 2.13 allocate on CPU and CUDA alike. Scratch of convolution and
// matrix-product libraries is not here: workspace.h.
[[nodiscard]] std::vector<EagerExtra> eager_extras(const EagerNode& eager);

}  // namespace latpred
