#pragma once

#include <cstdint>
#include <vector>

#include "shapes/rule.h"

namespace latpred::shapes {

// Shared by tensors and sequences.

// How a split cuts `axis_size` into `num_outputs` parts: its "split" (attribute or input 1), else equal parts.
[[nodiscard]] std::vector<std::int64_t> split_sizes(const RuleContext& context, std::int64_t axis_size,
                                                    std::size_t num_outputs);

// The shape of `shapes` joined along `axis`.
[[nodiscard]] Shape joined(const RuleContext& context, const std::vector<Shape>& shapes, std::int64_t axis);

}  // namespace latpred::shapes
