#include "predictors/column_scale.h"

#include <ATen/ops/where.h>

namespace latpred {

void set_column_scale(const at::Tensor& values, const at::Tensor& mean, const at::Tensor& deviation) {
  if (values.size(0) == 0) return;
  const at::Tensor is_flag = values.eq(0).logical_or(values.eq(1)).all(0);
  const at::Tensor spread = values.std(0, /*unbiased=*/false);
  mean.copy_(at::where(is_flag, 0.0, values.mean(0)));
  deviation.copy_(at::where(is_flag.logical_or(spread <= kSmallestDeviation), 1.0, spread));
}

}  // namespace latpred
