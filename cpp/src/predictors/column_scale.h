#pragma once

#include <ATen/core/TensorBody.h>

namespace latpred {

inline constexpr double kSmallestDeviation = 1e-6;

// Sets what the columns of `values` [rows, columns] are scaled by, means and deviations [columns]; of no rows nothing.
// A column that does not vary says nothing: it is left at 0 instead of being divided by 0. One of yes and no keeps its
// 0 and 1: scaled, the few rows of a rare kind would drown all else.
void set_column_scale(const at::Tensor& values, const at::Tensor& mean, const at::Tensor& deviation);

}  // namespace latpred
