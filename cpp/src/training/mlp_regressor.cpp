#include "training/mlp_regressor.h"

#include <ATen/CPUGeneratorImpl.h>

#include <utility>

#include "batch/row_batch.h"
#include "batch/torch_error.h"
#include "latpred/error.h"
#include "latpred/text.h"
#include "predictors/config_checks.h"
#include "predictors/mlp.h"
#include "training/fit.h"

namespace latpred {

MlpRegressor::MlpRegressor(std::vector<std::int64_t> hidden) : hidden_(std::move(hidden)) {
  for (const std::int64_t width : hidden_) check_at_least("each width in hidden", width, 1);
}

MlpRegressor::~MlpRegressor() = default;
MlpRegressor::MlpRegressor(MlpRegressor&&) noexcept = default;
MlpRegressor& MlpRegressor::operator=(MlpRegressor&&) noexcept = default;

FitReport MlpRegressor::fit(const RowTable& table, const FitOptions& options) {
  check_at_least("epochs", options.epochs, 1);
  check_at_least("batch_rows", options.batch_rows, 1);
  check_positive("learning_rate", options.learning_rate);
  check_positive("huber_delta", options.huber_delta);
  if (table.targets.empty()) throw InvalidArgumentError("fit needs a target for each row, got none");
  return with_short_errors([&] {
    const at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(options.seed);
    const RowBatch batch = collate(table);
    auto mlp = std::make_unique<Mlp>(table.num_features, hidden_, generator);
    FitReport report = latpred::fit(*mlp, batch, options, generator);
    mlp_ = std::move(mlp);
    return report;
  });
}

std::vector<double> MlpRegressor::predict(const RowTable& table) const {
  if (!mlp_) throw InvalidArgumentError("predict needs a trained regressor: call fit first");
  if (table.num_features != mlp_->num_features()) {
    throw InvalidArgumentError(concat("this regressor was trained on rows of ", mlp_->num_features(),
                                      " features, got rows of ", table.num_features));
  }
  return with_short_errors([&] {
    const at::NoGradGuard no_grad;
    const at::Tensor values = mlp_->forward(collate(table).features).to(at::kDouble);
    const double* begin = values.const_data_ptr<double>();
    return std::vector<double>(begin, begin + values.numel());
  });
}

std::int64_t MlpRegressor::num_parameters() const {
  if (!mlp_) return 0;
  std::int64_t count = 0;
  for (const at::Tensor& parameter : mlp_->parameters()) count += parameter.numel();
  return count;
}

}  // namespace latpred
