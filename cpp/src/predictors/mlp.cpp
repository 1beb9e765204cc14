#include "predictors/mlp.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <torch/utils.h>

#include <cmath>
#include <string>

namespace latpred {
namespace {

// A column that does not vary says nothing: it is left at 0 instead of being divided by 0.
at::Tensor deviation_or_one(const at::Tensor& deviation) { return at::where(deviation > 0, deviation, 1.0f); }

}  // namespace

Mlp::Mlp(std::int64_t num_features, const std::vector<std::int64_t>& hidden, at::Generator generator) {
  const torch::NoGradGuard no_grad;
  std::vector<std::int64_t> widths = {num_features};
  widths.insert(widths.end(), hidden.begin(), hidden.end());
  widths.push_back(1);
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    // He's uniform rule: keeps the variance of the values through layers of rectifiers.
    const double bound = std::sqrt(6.0 / static_cast<double>(widths[i]));
    at::Tensor weight = torch::empty({widths[i + 1], widths[i]}).uniform_(-bound, bound, generator);
    const std::string index = std::to_string(i);
    layers_.push_back({register_parameter("weight_" + index, weight),
                       register_parameter("bias_" + index, torch::zeros({widths[i + 1]}))});
  }
  feature_mean_ = register_buffer("feature_mean", torch::zeros({num_features}));
  feature_deviation_ = register_buffer("feature_deviation", torch::ones({num_features}));
  target_mean_ = register_buffer("target_mean", torch::zeros({}));
  target_deviation_ = register_buffer("target_deviation", torch::ones({}));
}

void Mlp::set_scale(const at::Tensor& features, const at::Tensor& targets) {
  const torch::NoGradGuard no_grad;
  feature_mean_.copy_(features.mean(0));
  feature_deviation_.copy_(deviation_or_one(features.std(0, /*unbiased=*/false)));
  target_mean_.copy_(targets.mean());
  target_deviation_.copy_(deviation_or_one(targets.std(/*unbiased=*/false)));
}

at::Tensor Mlp::forward_scaled(const at::Tensor& features) const {
  at::Tensor values = (features - feature_mean_) / feature_deviation_;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    values = at::linear(values, layers_[i].weight, layers_[i].bias);
    if (i + 1 < layers_.size()) values = at::relu(values);
  }
  return values.squeeze(1);
}

at::Tensor Mlp::forward(const at::Tensor& features) const {
  return forward_scaled(features) * target_deviation_ + target_mean_;
}

at::Tensor Mlp::scale_targets(const at::Tensor& targets) const { return (targets - target_mean_) / target_deviation_; }

}  // namespace latpred
