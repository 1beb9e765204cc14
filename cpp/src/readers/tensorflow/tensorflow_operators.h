#pragma once

#include <string_view>

#include "readers/tensorflow/tensorflow_lowering.h"

namespace latpred::readers::tensorflow {

using Converter = void (*)(Node& node);

// How an operator becomes ours.
struct OperatorRow {
  std::string_view name;
  OperatorId op;  // for converters that several operators share
  Converter convert;
};

// nullptr where no table has `name`.
[[nodiscard]] const OperatorRow* operator_row(std::string_view name);

// The tables, one for each file: layers, element-wise operators and products, what rearranges tensors, what cuts
// them, what picks from them, lists of them.
[[nodiscard]] const std::vector<OperatorRow>& layer_rows();
[[nodiscard]] const std::vector<OperatorRow>& arithmetic_rows();
[[nodiscard]] const std::vector<OperatorRow>& array_rows();
[[nodiscard]] const std::vector<OperatorRow>& slice_rows();
[[nodiscard]] const std::vector<OperatorRow>& index_rows();
[[nodiscard]] const std::vector<OperatorRow>& list_rows();

// The row of the node that is being translated.
[[nodiscard]] const OperatorRow& row_of(const Node& node);

// Whether the operator hands its first input on as it is.
[[nodiscard]] bool is_alias(std::string_view op);

}  // namespace latpred::readers::tensorflow
