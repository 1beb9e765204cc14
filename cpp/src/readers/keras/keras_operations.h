#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "latpred/json.h"
#include "readers/keras/keras_call.h"

// Operations of keras.ops and, as Keras 2 stores them, functions of TensorFlow: two names of the same lowerings.
namespace latpred::readers::keras {

using Names = std::initializer_list<std::string_view>;

// A setting of an operation: Keras 3 keeps it in the config or passes it, Keras 2 passes it under TensorFlow's name.
[[nodiscard]] const Json* find_setting(const Call& call, Names names, std::size_t position);
[[nodiscard]] std::int64_t integer_setting(const Call& call, Names names, std::size_t position, std::int64_t fallback);

// A tensor, or a constant of the type of what it meets.
[[nodiscard]] VariableId operand(Call& call, const Argument* argument, DType dtype);

struct FunctionRow {
  std::string_view function;
  Lower lower;
};

// One table of each for each file of operations; keras_operations.cpp puts them together.
[[nodiscard]] const std::vector<LayerRow>& arithmetic_operations();
[[nodiscard]] const std::vector<LayerRow>& array_operations();
[[nodiscard]] const std::vector<FunctionRow>& arithmetic_functions();
[[nodiscard]] const std::vector<FunctionRow>& array_functions();

}  // namespace latpred::readers::keras
