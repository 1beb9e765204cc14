#pragma once

#include <optional>
#include <string_view>

#include "latpred/operators.h"

namespace latpred {

// What a group of kind `group` becomes when `runtime` fuses an operator of kind `next` behind it; nothing where it
// starts a kernel of its own.
[[nodiscard]] std::optional<CostKind> fused_kind(std::string_view runtime, CostKind group, CostKind next);

}  // namespace latpred
