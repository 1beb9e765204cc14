#include "predictors/kernel_residual.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/logaddexp.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <torch/utils.h>

#include <cmath>
#include <string>

#include "latpred/kernel_terms.h"

namespace latpred {
namespace {

constexpr std::int64_t kNumOutputs = 4;
// Compute on each sort of units, memory, gap.
constexpr auto kNumUnits = static_cast<std::int64_t>(kNumComputeUnits);
constexpr std::int64_t kNumDeviceEffects = kNumUnits + 2;
constexpr std::int64_t kNumVersionEffects = 3;
constexpr double kNorm = 3;  // joins compute and memory time, kernels and launches

// Where the fit starts: the trial's common efficiencies, a wave exponent of 0.27, the shortest replayed kernels.
const std::vector<double> kBase{std::log(1.4), std::log(1.2), -1.0, std::log(2e-6)};
// All of L2 holds; a third of the time, which is L2's share of bandwidth.
const std::vector<double> kL2{0.0, -0.7};
// A fifth of memory time's logarithm from the SMs' cycles, the rest from the bandwidth.
const std::vector<double> kCycles{-1.4};
constexpr double kSmallestDeviation = 1e-6;
constexpr double kNoBytes = 1e-3;  // keeps the logarithm finite where a kernel moves none

at::Tensor join(const at::Tensor& log_first, const at::Tensor& log_second) {
  return at::logaddexp(kNorm * log_first, kNorm * log_second) / kNorm;
}

// Rows of `effects` by index; 0 stands for none.
at::Tensor pick(const at::Tensor& effects, const at::Tensor& index) {
  std::vector<std::int64_t> none = effects.sizes().vec();
  none[0] = 1;
  return at::cat({at::zeros(none, effects.options()), effects}).index_select(0, index);
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
  cycles_ = register_parameter("cycles", torch::tensor(kCycles, torch::kFloat));
}

void KernelResidual::set_scale(const at::Tensor& inputs) {
  const torch::NoGradGuard no_grad;
  const at::Tensor deviation = inputs.std(0, /*unbiased=*/false);
  // A column that does not vary says nothing: it is left at 0 instead of being divided by 0. One of yes and no keeps
  // its 0 and 1: scaled, the few kernels of a rare kind would drown all else.
  const at::Tensor is_flag = inputs.eq(0).logical_or(inputs.eq(1)).all(0);
  input_mean_.copy_(at::where(is_flag, 0.0, inputs.mean(0)));
  input_deviation_.copy_(at::where(is_flag.logical_or(deviation <= kSmallestDeviation), 1.0, deviation));
}

KernelResidual::Learnt KernelResidual::learnt(const KernelBatch& batch) const {
  at::Tensor values = (batch.inputs - input_mean_) / input_deviation_;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    values = at::linear(values, layers_[i].weight, layers_[i].bias);
    if (i + 1 < layers_.size()) values = at::silu(values);
  }
  values = output_bounds_ * at::tanh(values / output_bounds_);
  return {values + kind_bias_.index_select(0, batch.input_kind) + base_,
          pick(chip_effects_, batch.chip) + pick(device_effects_, batch.device),
          pick(version_effects_, batch.version),
          pick(launch_effects_, batch.launch) + pick(host_effects_, batch.host) +
              (batch.host_columns * host_column_effects_).sum(1),
          pick(memory_effects_, batch.memory_kind),
          l2_,
          cycles_,
          pick(host_kind_effects_, batch.host_kind)};
}

KernelResidual::LogSeconds KernelResidual::log_seconds(const KernelBatch& batch, const Learnt& learnt) {
  const auto output = [&](std::int64_t place) { return learnt.outputs.select(1, place).index_select(0, batch.input); };
  const at::Tensor device_compute = learnt.device.narrow(1, 0, kNumUnits).flatten();
  const at::Tensor versions = learnt.version;
  const at::Tensor library_compute =
      at::stack({versions.select(1, 0), versions.select(1, 1), at::zeros_like(versions.select(1, 0))}, 1).flatten();
  const at::Tensor on_memory = learnt.device.select(1, kNumUnits) + versions.select(1, 2);

  const at::Tensor log_inverse_compute =
      output(0) + device_compute.index_select(0, batch.row_units) + library_compute.index_select(0, batch.row_library);
  const at::Tensor log_compute = at::maximum(
      batch.log_compute + log_inverse_compute + at::sigmoid(output(2)) * batch.log_wave, batch.log_least_compute);

  const at::Tensor fill = (batch.activation_bytes / (batch.l2_bytes * learnt.l2.select(0, 0).exp())).square();
  const at::Tensor held_share = at::sigmoid(learnt.l2.select(0, 1));
  const at::Tensor traffic =
      batch.weight_bytes + batch.activation_bytes * (held_share + (1 - held_share) * fill / (1 + fill)) + kNoBytes;
  const at::Tensor log_memory =
      at::maximum(traffic.log() - batch.log_bandwidth - at::sigmoid(learnt.cycles) * batch.log_cycles_per_byte +
                      output(1) + on_memory.index_select(0, batch.row) + learnt.memory,
                  batch.log_least_memory);

  const at::Tensor gap =
      (output(3) + learnt.device.select(1, kNumUnits + 1).index_select(0, batch.row) + batch.log_gap_scale).exp();
  const at::Tensor kernel_s = join(log_compute, log_memory).exp() + gap;
  const auto sum_by_call = [&](const at::Tensor& of_kernels) {
    return at::zeros({batch.log_host.size(0)}, of_kernels.options()).index_add(0, batch.row, of_kernels);
  };
  const at::Tensor launches = sum_by_call(batch.count);
  const at::Tensor weighted_launches = sum_by_call(batch.count * batch.host_weight * learnt.launch.exp());
  at::Tensor log_host = batch.log_host + (weighted_launches / launches).log() + learnt.host;
  if (batch.shows_host.defined()) log_host = at::where(batch.shows_host, log_host, log_host.detach());
  const at::Tensor log_call = join(sum_by_call(kernel_s * batch.count).log(), log_host);
  return {at::logaddexp(log_call, batch.log_copy), log_host};
}

at::Tensor KernelResidual::prior_penalty(const KernelResidualPriors& priors) const {
  return half_squares(chip_effects_.narrow(1, 0, kNumUnits + 1), priors.chip_sd) +
         half_squares(device_effects_.narrow(1, 0, kNumUnits + 1), priors.device_sd) +
         half_squares(chip_effects_.select(1, kNumUnits + 1), priors.gap_sd) +
         half_squares(device_effects_.select(1, kNumUnits + 1), priors.gap_sd) +
         half_squares(version_effects_, priors.version_sd) + half_squares(launch_effects_, priors.launch_sd) +
         half_squares(host_effects_, priors.host_sd) + half_squares(kind_bias_, priors.kind_sd) +
         half_squares(memory_effects_, priors.memory_sd) + half_squares(host_kind_effects_ / priors.host_kind_sd, 1) +
         half_squares(host_column_effects_ / priors.host_column_sd, 1);
}

at::Tensor KernelResidual::weight_penalty() const {
  at::Tensor sum = at::zeros({}, base_.options());
  for (const Layer& layer : layers_) sum = sum + layer.weight.square().sum() + layer.bias.square().sum();
  return sum;
}

}  // namespace latpred
