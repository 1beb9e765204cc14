#include "predictors/kernel_residual.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/logaddexp.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <torch/utils.h>

#include <cmath>
#include <string>

#include "latpred/kernel_terms.h"
#include "predictors/column_scale.h"

namespace latpred {
namespace {

constexpr double kNorm = 3;  // joins kernels and launches

// Where the fit starts: the trial's common efficiencies, a wave exponent of 0.27, the shortest replayed kernels, a
// fifth of memory time's logarithm from the SMs' cycles and the rest from the bandwidth.
const std::vector<double> kBase{std::log(kStartOfCompute), std::log(1.2), -1.0, std::log(2e-6), -1.4};
// All of L2 holds; a third of the time, which is L2's share of bandwidth.
const std::vector<double> kL2{0.0, -0.7};

at::Tensor join(const at::Tensor& log_first, const at::Tensor& log_second) {
  return at::logaddexp(kNorm * log_first, kNorm * log_second) / kNorm;
}

// `effects` behind a row of none.
at::Tensor with_none(const at::Tensor& effects) {
  std::vector<std::int64_t> none = effects.sizes().vec();
  none[0] = 1;
  return at::cat({at::zeros(none, effects.options()), effects});
}
at::Tensor pick(const at::Tensor& effects, const at::Tensor& index) {
  return with_none(effects).index_select(0, index);
}

at::Tensor half_squares(const at::Tensor& values, double sd) { return (values / sd).square().sum() / 2; }

}  // namespace

KernelResidual::KernelResidual(const KernelResidualSizes& sizes, at::Generator generator) {
  const torch::NoGradGuard no_grad;
  std::vector<std::int64_t> widths{sizes.num_columns};
  widths.insert(widths.end(), sizes.hidden.begin(), sizes.hidden.end());
  widths.push_back(kNumOutputs);
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    const bool is_last = i + 2 == widths.size();
    // As torch's linear layer starts; the last one at 0, so that the fit starts at pure physics.
    const double bound = is_last ? 0 : 1 / std::sqrt(static_cast<double>(widths[i]));
    const at::Tensor weight = torch::empty({widths[i + 1], widths[i]}).uniform_(-bound, bound, generator);
    const at::Tensor bias = torch::empty({widths[i + 1]}).uniform_(-bound, bound, generator);
    const std::string index = std::to_string(i);
    layers_.push_back({register_parameter("weight_" + index, weight), register_parameter("bias_" + index, bias)});
  }
  input_mean_ = register_buffer("input_mean", torch::zeros({sizes.num_columns}));
  input_deviation_ = register_buffer("input_deviation", torch::ones({sizes.num_columns}));
  output_bounds_ = torch::tensor(std::vector<double>(kOutputBounds.begin(), kOutputBounds.end()), torch::kFloat);
  base_ = register_parameter("base", torch::tensor(kBase, torch::kFloat));
  kind_bias_ = register_parameter("kind_bias", torch::zeros({sizes.num_kinds, kNumOutputs}));
  chip_effects_ = register_parameter("chip_effects", torch::zeros({sizes.num_chips, kNumDeviceEffects}));
  device_effects_ = register_parameter("device_effects", torch::zeros({sizes.num_devices, kNumDeviceEffects}));
  version_effects_ = register_parameter("version_effects", torch::zeros({sizes.num_versions, kNumVersionEffects}));
  launch_effects_ = register_parameter("launch_effects", torch::zeros({sizes.num_launches}));
  host_effects_ = register_parameter("host_effects", torch::zeros({sizes.num_hosts}));
  memory_effects_ = register_parameter("memory_effects", torch::zeros({kNumMemoryKinds}));
  host_kind_effects_ = register_parameter("host_kind_effects", torch::zeros({sizes.num_host_kinds}));
  host_column_effects_ = register_parameter("host_column_effects", torch::zeros({sizes.num_host_columns}));
  l2_ = register_parameter("l2", torch::tensor(kL2, torch::kFloat));
}

void KernelResidual::set_scale(const at::Tensor& inputs) {
  const torch::NoGradGuard no_grad;
  set_column_scale(inputs, input_mean_, input_deviation_);
}

at::Tensor KernelResidual::scaled(const at::Tensor& inputs) const { return (inputs - input_mean_) / input_deviation_; }

KernelResidual::Learnt KernelResidual::learnt(const KernelBatch& batch) const {
  at::Tensor values = batch.inputs;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    values = at::linear(values, layers_[i].weight, layers_[i].bias);
    if (i + 1 < layers_.size()) values = at::silu(values);
  }
  values = output_bounds_ * at::tanh(values / output_bounds_);
  return {{values + kind_bias_.index_select(0, batch.input_kind) + base_,
           pick(chip_effects_, batch.chip) + pick(device_effects_, batch.device), pick(version_effects_, batch.version),
           with_none(memory_effects_), l2_, with_none(host_kind_effects_)},
          pick(launch_effects_, batch.launch) + pick(host_effects_, batch.host) +
              (batch.host_columns * host_column_effects_).sum(1)};
}

KernelResidual::LogSeconds KernelResidual::log_seconds(const KernelBatch& batch, const Learnt& learnt) {
  const at::Tensor sums = sum_kernels(batch, learnt.kernels);
  const at::Tensor calls =
      sums.select(0, 1) + batch.view_weight * learnt.kernels.launch.select(0, batch.view_kind).exp();
  at::Tensor log_host = batch.log_host + (calls / batch.launches).log() + learnt.host;
  if (batch.shows_host.defined()) log_host = at::where(batch.shows_host, log_host, log_host.detach());
  const at::Tensor log_call = join(sums.select(0, 0).log(), log_host);
  return {at::logaddexp(log_call, batch.log_copy), log_host};
}

at::Tensor KernelResidual::prior_penalty(const KernelResidualPriors& priors) const {
  // [n, k]: of compute, and the last two on memory and on the gap
  const auto of_kernels = [&](const at::Tensor& effects, double compute_sd, double memory_sd) {
    const std::int64_t memory = effects.size(1) - 2;
    return half_squares(effects.narrow(1, 0, memory), compute_sd) + half_squares(effects.select(1, memory), memory_sd) +
           half_squares(effects.select(1, memory + 1), priors.gap_sd);
  };
  const at::Tensor of_versions = version_effects_.narrow(1, 0, kNumVersionEffects - 1);  // all but on the gap
  return of_kernels(chip_effects_, priors.chip_sd, priors.chip_memory_sd) +
         of_kernels(device_effects_, priors.device_sd, priors.device_memory_sd) +
         half_squares(of_versions / priors.version_sd.unsqueeze(1), 1) +
         half_squares(version_effects_.select(1, kNumVersionEffects - 1) / priors.version_gap_sd, 1) +
         half_squares(launch_effects_, priors.launch_sd) + half_squares(host_effects_, priors.host_sd) +
         half_squares(kind_bias_, priors.kind_sd) + half_squares(memory_effects_, priors.memory_sd) +
         half_squares(host_kind_effects_ / priors.host_kind_sd, 1) +
         half_squares(host_column_effects_ / priors.host_column_sd, 1);
}

at::Tensor KernelResidual::weight_penalty() const {
  at::Tensor sum = at::zeros({}, base_.options());
  for (const Layer& layer : layers_) sum = sum + layer.weight.square().sum() + layer.bias.square().sum();
  return sum;
}

}  // namespace latpred
