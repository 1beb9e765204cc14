#pragma once

#include <cstddef>
#include <map>

#include "latpred/graph.h"
#include "latpred/program.h"
#include "shapes/inputs.h"

namespace latpred::shapes {

class Engine;

// Tensors that a file makes at its saved batch from nothing that carries it (zeros(2, 128), expand(2, -1)), and the
// dimension of each that is the batch.
using Enlarged = std::map<VariableId, std::size_t>;

// The walk of a file with a number for its batch at another one; `saved` is its walk at its own. Which dimension of a
// baked tensor is the batch cannot be read off the tensor: it is the one with which the rest of the network fits, at
// any batch. ShapeError where none does; a warning of the graph where the network fits with and without.
[[nodiscard]] Graph run_rebatched(const Program& program, const InputSizes& sizes, const Engine& saved);

}  // namespace latpred::shapes
