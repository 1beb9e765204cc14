#include "batch/row_batch.h"

#include <ATen/ops/empty.h>

#include <cmath>

#include "batch/table_checks.h"
#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred {
namespace {

at::Tensor to_tensor(std::span<const double> values, at::IntArrayRef shape) {
  at::Tensor tensor = at::empty(shape, at::kFloat);
  float* out = tensor.mutable_data_ptr<float>();
  for (const double value : values) *out++ = static_cast<float>(value);
  return tensor;
}

void check_finite(const RowTable& table) {
  for (std::size_t i = 0; i < table.features.size(); ++i) {
    if (is_finite_as_float(table.features[i])) continue;
    const auto columns = static_cast<std::size_t>(table.num_features);
    throw InvalidArgumentError(concat("features must be finite 32-bit numbers, got ", table.features[i], " in row ",
                                      i / columns, ", column ", i % columns));
  }
  for (std::size_t i = 0; i < table.targets.size(); ++i) {
    if (is_finite_as_float(table.targets[i])) continue;
    throw InvalidArgumentError(concat("targets must be finite 32-bit numbers, got ", table.targets[i], " in row ", i));
  }
}

}  // namespace

RowBatch collate(const RowTable& table) {
  if (table.num_rows < 1 || table.num_features < 1) {
    throw InvalidArgumentError(concat("a table needs at least one row and one column, got ",
                                      shape_text({table.num_rows, table.num_features})));
  }
  check_size("features", table.features.size(), table.num_rows * table.num_features);
  if (!table.targets.empty()) check_size("targets", table.targets.size(), table.num_rows);
  check_finite(table);
  RowBatch batch;
  batch.features = to_tensor(table.features, {table.num_rows, table.num_features});
  if (!table.targets.empty()) batch.targets = to_tensor(table.targets, {table.num_rows});
  return batch;
}

}  // namespace latpred
