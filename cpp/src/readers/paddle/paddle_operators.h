#pragma once

#include "readers/paddle/paddle_lowering.h"

namespace latpred::readers {

// One more operator of the main block, as the file has it: some become several statements, some become a constant.
void count_paddle(Assembly& assembly, const std::string& name);

// Appends what `op` becomes in our operators; one that no table knows becomes OperatorId::unknown.
void lower_paddle(Assembly& assembly, const PaddleOperator& op);

// The last part of a long name: it stands in the names of all parts that an operator becomes.
[[nodiscard]] std::string shortened(const std::string& name);

// The element type of a name ("float32") or of a number of VarType.Type; undefined where neither fits.
[[nodiscard]] DType paddle_dtype(std::string_view name);
[[nodiscard]] DType paddle_dtype(std::int64_t code);

// The dimensions that a Paddle file declares: -1 is open, and the first open one of an input is its batch.
[[nodiscard]] std::vector<Dimension> paddle_dimensions(const std::vector<std::int64_t>& sizes, bool is_input);

}  // namespace latpred::readers
