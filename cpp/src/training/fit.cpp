#include "training/fit.h"

#include <ATen/ops/huber_loss.h>
#include <ATen/ops/randperm.h>
#include <torch/optim/adam.h>

namespace latpred {

FitReport fit(Mlp& mlp, const RowBatch& batch, const FitOptions& options, at::Generator generator) {
  mlp.train();
  mlp.set_scale(batch.features, batch.targets);
  const at::Tensor targets = mlp.scale_targets(batch.targets);
  torch::optim::Adam adam(mlp.parameters(), torch::optim::AdamOptions(options.learning_rate));
  const std::int64_t num_rows = targets.size(0);
  FitReport report;
  for (std::int64_t epoch = 0; epoch < options.epochs; ++epoch) {
    const at::Tensor order = at::randperm(num_rows, generator, at::kLong);
    double summed_loss = 0;
    for (const at::Tensor& rows : order.split(options.batch_rows)) {
      adam.zero_grad();
      const at::Tensor loss = at::huber_loss(mlp.forward_scaled(batch.features.index_select(0, rows)),
                                             targets.index_select(0, rows), at::Reduction::Mean, options.huber_delta);
      loss.backward();
      adam.step();
      summed_loss += loss.item<double>() * static_cast<double>(rows.size(0));
    }
    report.losses.push_back(summed_loss / static_cast<double>(num_rows));
  }
  mlp.eval();
  return report;
}

}  // namespace latpred
