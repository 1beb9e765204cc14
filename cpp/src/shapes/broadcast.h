#pragma once

#include <cstdint>

#include "shapes/rule.h"

namespace latpred::shapes {

// NumPy's broadcast of two shapes; throws ShapeError where they do not fit.
[[nodiscard]] Shape broadcast(const Shape& a, const Shape& b);
// Whether `from` can be broadcast to `to` without changing it.
[[nodiscard]] bool broadcasts_to(const Shape& from, const Shape& to);
// Of all inputs that are there, from `first` on.
[[nodiscard]] Shape broadcast_inputs(const RuleContext& context, std::size_t first = 0);

// Where in `from` (row-major) the element `index` of its broadcast `to` comes from.
[[nodiscard]] std::int64_t broadcast_source(std::int64_t index, const Shape& to, const Shape& from);

}  // namespace latpred::shapes
