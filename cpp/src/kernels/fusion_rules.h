#pragma once

#include <optional>
#include <string_view>

#include "latpred/operators.h"

namespace latpred {

// What a group of kind `group` becomes when `runtime` fuses an operator of kind `next` behind it; nothing where it
// starts a kernel of its own. `is_repeated`: whether that operator makes more elements than it reads of the group, as a
// product with an image does of its gates.
[[nodiscard]] std::optional<CostKind> fused_kind(std::string_view runtime, CostKind group, CostKind next,
                                                 bool is_repeated);

}  // namespace latpred
