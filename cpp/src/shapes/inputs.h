#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "latpred/graph.h"
#include "latpred/program.h"

namespace latpred::shapes {

// The sizes of the network's inputs for one request, at the asked batch and at the one that the file was saved with.
struct InputSizes {
  std::int64_t asked_batch = 1;
  std::int64_t saved_batch = 1;
  bool is_static = false;                             // the file has a number, no symbol, for its batch
  std::string batch_input;                            // the first input that carries the batch; empty where none does
  std::vector<VariableId> variables;                  // the inputs that the caller gives: not stored in the file
  std::vector<Shape> asked;                           // one for each of `variables`
  std::vector<Shape> saved;                           // likewise
  std::map<std::string, std::int64_t> symbols;        // what the file's symbols are at the asked batch
  std::map<std::string, std::int64_t> saved_symbols;  // and at the saved one
};

// Throws InvalidArgumentError where the request does not fit the file's inputs, or leaves a size open.
[[nodiscard]] InputSizes input_sizes(const Program& program, const InputRequest& request);

// "2*s0 + 1" for known symbols; nothing where it is no expression of those.
[[nodiscard]] std::optional<std::int64_t> evaluate(const std::string& expression,
                                                   const std::map<std::string, std::int64_t>& symbols);
// What a file declares, as numbers; nothing where a dimension is open.
[[nodiscard]] std::optional<Shape> declared_shape(const Variable& variable,
                                                  const std::map<std::string, std::int64_t>& symbols);

}  // namespace latpred::shapes
