#pragma once

#include <vector>

#include "eager_extras.h"

namespace latpred {

// The inputs and outputs of a node that PyTorch's autograd saves for backward; empty where it records nothing. Extra
// tensors that it saves are in eager_extras.h.
[[nodiscard]] std::vector<TensorId> saved_tensors(const EagerNode& eager);

// [tensors] true: a backward pass would reach it, because it is a parameter or made from one.
[[nodiscard]] std::vector<bool> find_gradients(const Graph& graph);

}  // namespace latpred
