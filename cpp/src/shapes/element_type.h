#pragma once

#include <cstdint>

#include "shapes/rule.h"

namespace latpred::shapes {

// The element type that a file gives by number; throws ShapeError where there is none.
[[nodiscard]] DType element_type(const RuleContext& context, std::int64_t number);

}  // namespace latpred::shapes
