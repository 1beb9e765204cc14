#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "latpred/json.h"
#include "readers/keras/keras_call.h"

// How a config says which tensors a call takes: as Keras 3 writes it, and as the versions before did.
namespace latpred::readers::keras {

// A result of a layer: which call of it, and which of that call's results.
struct Reference {
  std::string layer;
  std::int64_t call = 0;
  std::int64_t tensor = 0;
};

// What stands at a reference: the tensor itself, with what the file declares of it (nullptr: nothing).
using Resolve = std::function<VariableId(const Reference&, const Json* declared)>;

// One call: {"args", "kwargs"} in Keras 3; [[name, call, tensor, keywords], ...] before, or one of these alone.
[[nodiscard]] Arguments arguments_of(const Json& call, const Resolve& resolve);

// The tensors in a network's list, dictionary or single name of inputs or outputs, with their keys in the dictionary.
using Ends = std::vector<std::pair<std::string, Reference>>;
[[nodiscard]] Ends ends_of(const Json& json);

}  // namespace latpred::readers::keras
