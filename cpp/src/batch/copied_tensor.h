#pragma once

#include <ATen/ops/from_blob.h>

#include <cstdint>
#include <span>

namespace latpred {

// [values] of its own memory.
[[nodiscard]] inline at::Tensor copied_tensor(std::span<const std::int64_t> values) {
  const auto size = static_cast<std::int64_t>(values.size());
  return at::from_blob(const_cast<std::int64_t*>(values.data()), {size}, at::kLong).clone();
}

[[nodiscard]] inline at::Tensor copied_tensor(std::span<const double> values, at::ScalarType type) {
  const auto size = static_cast<std::int64_t>(values.size());
  return at::from_blob(const_cast<double*>(values.data()), {size}, at::kDouble).to(type, false, /*copy=*/true);
}

}  // namespace latpred
