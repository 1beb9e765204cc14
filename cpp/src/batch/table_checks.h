#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "latpred/error.h"
#include "latpred/text.h"

// What tables of numbers are checked by before they become tensors. Knows nothing of torch.
namespace latpred {

inline void check_size(std::string_view what, std::size_t found, std::int64_t expected) {
  if (static_cast<std::int64_t>(found) == expected) return;
  throw InvalidArgumentError(concat(what, " must hold ", expected, " numbers, got ", found));
}

// As float: what overflows there would become infinite in the tensor.
[[nodiscard]] inline bool is_finite_as_float(double value) { return std::isfinite(static_cast<float>(value)); }

}  // namespace latpred
