#pragma once

#include <string_view>

#include "latpred/operator_id.h"

namespace latpred::readers {

// The operator that an ONNX file means by `domain` ("" for ONNX's own) and `name`; unknown where no row says.
[[nodiscard]] OperatorId onnx_operator(std::string_view domain, std::string_view name);

}  // namespace latpred::readers
