#pragma once

#include <memory>
#include <set>
#include <string>

#include "latpred/graph.h"
#include "latpred/program.h"

namespace latpred {

// The graph that `program` is at the asked batch and input sizes: every shape a number, shape arithmetic folded,
// branches and loops taken where their condition is known, costs counted. The batch may differ from the one that the
// file was saved with: constants that bake it in are rescaled where element counts prove it right, otherwise the
// request is refused.
//
// Throws InvalidArgumentError (a request that does not fit the inputs), ShapeError (sizes that contradict each other,
// with the node), UnsupportedOperatorError (a size that an operator without a rule leaves open; all such operators are
// listed).
[[nodiscard]] Graph resolve(std::shared_ptr<const Program> program, const InputRequest& request);

// Inputs that a recurrent layer reads with the steps first, as PyTorch's do unless told otherwise: their batch stands
// second, as that of the states [layers, batch, size] does, of which it may read a slice, and of numbers of words.
[[nodiscard]] std::set<std::string> inputs_with_steps_first(const Program& program);

// The same network at another batch.
[[nodiscard]] Graph with_batch(const Graph& graph, std::int64_t batch);

}  // namespace latpred
