#pragma once

#include <vector>

#include "latpred/graph.h"
#include "latpred/operators.h"

namespace latpred {

// What eager PyTorch does before a kernel that cannot read its input as it lies in memory.

// Whether `graph` was read from PyTorch, whose rules of strides hold for it.
[[nodiscard]] bool is_of_pytorch(const Graph& graph);

// Whether a batched product has to copy this operand: its leading dimensions are not one in memory, or its rows have
// gaps both ways.
[[nodiscard]] bool is_copied_for_product(const Shape& shape, const Shape& strides);

// How the weights of a node lie in memory.
struct StoredWeights {
  bool channels_last = false;  // the filters of convolutions
  bool narrowed = false;       // autocast has made a copy: a fully connected layer of strided input folds otherwise
};

// The inputs of `node` that are copied first. `strides`: of every tensor.
[[nodiscard]] std::vector<TensorId> copied_inputs(const Graph& graph, const Node& node, CostKind kind,
                                                  const std::vector<Shape>& strides, StoredWeights weights);

// Whether `node`, a copy or a point-wise operator, reads an operand against the order in which its result lies.
[[nodiscard]] bool reads_across(const Graph& graph, const Node& node, CostKind kind, const std::vector<Shape>& strides);

// A fully connected layer of strided input is a product and, in a kernel of its own, an addition of the bias.
[[nodiscard]] bool adds_bias_apart(const Graph& graph, const Node& node, const std::vector<Shape>& strides);

// Eager PyTorch calls cuDNN for a convolution and adds the bias to what comes out (ATen's Convolution.cpp); its own
// depth-wise kernels, which it takes for images that are not channels-last, add it themselves.
[[nodiscard]] bool adds_bias_behind(const Node& node, CostKind kind, bool channels_last);

// Traced for a compiler, a convolution, and a fully connected layer of four dimensions, adds its bias by itself.
[[nodiscard]] bool traces_bias_apart(const Graph& graph, const Node& node, CostKind kind);

}  // namespace latpred
