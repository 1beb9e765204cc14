#pragma once

#include <optional>

#include "shapes/rule.h"

namespace latpred::shapes {

// Targets that bake in the batch the file was saved with, put right for the asked one. `literal` is what the target
// means as it stands (nothing where element counts disagree); the answer is nothing where it should stand.
[[nodiscard]] std::optional<Shape> rescaled_reshape(const RuleContext& context, const std::optional<Shape>& literal);
// `target` with the entry that meets the batch of the input scaled.
[[nodiscard]] Shape rescaled_expand(const RuleContext& context, const Shape& target);

// ShapeError: "input 'x' is fixed at batch 1 and reshape 'r_3' bakes it in; re-export with a dynamic batch dimension".
[[noreturn]] void fail_baked(const RuleContext& context);

}  // namespace latpred::shapes
