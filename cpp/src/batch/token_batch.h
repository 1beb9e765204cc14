#pragma once

#include <ATen/core/Tensor.h>

#include "batch/token_table.h"

namespace latpred {

// A TokenTable as tensors, padding and all.
struct TokenBatch {
  at::Tensor tokens;   // double [B, N, 3], as they are; 0 where padded
  at::Tensor mask;     // bool [B, N], true = valid
  at::Tensor targets;  // double [B] seconds; undefined where the table has none
};

// Copies the table, which is checked.
[[nodiscard]] TokenBatch collate(const TokenTable& table);

}  // namespace latpred
