#pragma once

#include <ATen/core/Tensor.h>

#include "batch/row_table.h"

namespace latpred {

// A RowTable as float tensors.
struct RowBatch {
  at::Tensor features;  // [N, F]
  at::Tensor targets;   // [N]; undefined where the table has none
};

// Copies the table; refuses sizes that disagree and numbers that are not finite.
[[nodiscard]] RowBatch collate(const RowTable& table);

}  // namespace latpred
