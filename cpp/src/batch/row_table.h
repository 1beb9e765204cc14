#pragma once

#include <cstdint>
#include <span>

namespace latpred {

// Rows of numbers as another owns them, with or without what was measured for each. Knows nothing of torch.
struct RowTable {
  std::span<const double> features;  // [N, F], row-major
  std::span<const double> targets;   // [N], or empty
  std::int64_t num_rows = 0;
  std::int64_t num_features = 0;
};

}  // namespace latpred
