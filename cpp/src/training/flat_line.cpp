#include "training/flat_line.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/linalg_lstsq.h>

#include <tuple>
#include <utility>

#include "batch/torch_error.h"
#include "latpred/error.h"
#include "training/dense_network.h"
#include "training/one_thread.h"

namespace latpred {
namespace {

// Least squares by singular values: what lies below rounding counts as none, and gets no coefficient.
std::vector<double> minimum_norm_solution(std::vector<double>& matrix /* [R, F] */, std::vector<double>& targets) {
  return with_short_errors([&] {
    const OneThread one_thread;
    const auto num_rows = static_cast<std::int64_t>(targets.size());
    const auto columns = static_cast<std::int64_t>(matrix.size()) / num_rows;
    const at::Tensor left = at::from_blob(matrix.data(), {num_rows, columns}, at::kDouble);
    const at::Tensor right = at::from_blob(targets.data(), {num_rows, 1}, at::kDouble);
    const at::Tensor solution = std::get<0>(at::linalg_lstsq(left, right, c10::nullopt, "gelsd")).contiguous();
    const double* begin = solution.const_data_ptr<double>();
    return std::vector<double>(begin, begin + solution.numel());
  });
}

}  // namespace

FlatLine::FlatLine(const NetTable& table, std::int64_t most_nodes) : most_nodes_(most_nodes) {
  if (table.tokens.target_s.empty()) {
    throw InvalidArgumentError("a line needs target_s, the seconds of each net, got none");
  }
  NetRows rows = flat_rows(table, most_nodes);
  DenseScale scale = scale_of(rows, table.tokens.target_s, /*are_summed=*/false);
  const std::size_t columns = scale.mean.size();
  for (std::size_t i = 0; i < rows.features.size(); ++i) {
    rows.features[i] = (rows.features[i] - scale.mean[i % columns]) / scale.deviation[i % columns];
  }
  std::vector<double> targets;
  for (const double seconds : table.tokens.target_s) targets.push_back(seconds - scale.target_mean);
  coefficients_ = minimum_norm_solution(rows.features, targets);
  mean_ = std::move(scale.mean);
  deviation_ = std::move(scale.deviation);
  intercept_ = scale.target_mean;
}

FlatLine::FlatLine(const NamedArrays& arrays, std::int64_t most_nodes) : most_nodes_(most_nodes) {
  const std::int64_t columns = num_flat_columns(most_nodes);
  mean_ = array_of(arrays, "mean", {columns}).values;
  deviation_ = array_of(arrays, "deviation", {columns}).values;
  coefficients_ = array_of(arrays, "coefficients", {columns}).values;
  intercept_ = number_of(arrays, "intercept");
}

std::vector<double> FlatLine::predict(const NetTable& table) const {
  const NetRows rows = flat_rows(table, most_nodes_);
  std::vector<double> result(static_cast<std::size_t>(table.num_graphs()), intercept_);
  const std::size_t columns = coefficients_.size();
  for (std::size_t i = 0; i < rows.features.size(); ++i) {
    const std::size_t column = i % columns;
    result[i / columns] += coefficients_[column] * (rows.features[i] - mean_[column]) / deviation_[column];
  }
  return result;
}

NamedArrays FlatLine::arrays() const {
  const auto columns = static_cast<std::int64_t>(coefficients_.size());
  return {{"mean", {{columns}, mean_}},
          {"deviation", {{columns}, deviation_}},
          {"coefficients", {{columns}, coefficients_}},
          {"intercept", {{}, {intercept_}}}};
}

}  // namespace latpred
