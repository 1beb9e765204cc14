#include "training/kernel_residual_trainer.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/huber_loss.h>
#include <ATen/ops/randperm.h>
#include <torch/optim/adam.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <numeric>
#include <string_view>

#include "batch/kernel_batch.h"
#include "batch/torch_error.h"
#include "latpred/error.h"
#include "latpred/text.h"
#include "predictors/config_checks.h"
#include "predictors/kernel_residual.h"
#include "predictors/schedule.h"
#include "training/one_thread.h"

namespace latpred {
namespace {

constexpr std::int64_t kPredictedRows = 2048;  // at a time: bounds the memory

void check_options(const KernelResidualOptions& options) {
  const std::map<std::string_view, double> positive{
      {"epochs", static_cast<double>(options.epochs)},
      {"batch_rows", static_cast<double>(options.batch_rows)},
      {"learning_rate", options.learning_rate},
      {"huber_beta", options.huber_beta},
      {"chip_sd", options.chip_sd},
      {"chip_memory_sd", options.chip_memory_sd},
      {"device_sd", options.device_sd},
      {"device_memory_sd", options.device_memory_sd},
      {"gap_sd", options.gap_sd},
      {"launch_sd", options.launch_sd},
      {"host_sd", options.host_sd},
      {"kind_sd", options.kind_sd},
      {"memory_sd", options.memory_sd},
  };
  for (const auto& [name, value] : positive) check_positive(name, value);
  for (const std::int64_t width : options.hidden) check_positive("each width in hidden", static_cast<double>(width));
}

KernelResidualSizes sizes_of(const KernelRows& rows, std::vector<std::int64_t> hidden) {
  return {rows.num_columns,  rows.num_kinds, rows.num_chips,      rows.num_devices,      rows.num_versions,
          rows.num_launches, rows.num_hosts, rows.num_host_kinds, rows.num_host_columns, std::move(hidden)};
}

void for_each_array(KernelResidual& module, const std::function<void(const std::string&, at::Tensor&)>& visit) {
  for (auto& item : module.named_parameters()) visit(item.key(), item.value());
  for (auto& item : module.named_buffers()) visit(item.key(), item.value());
}

NamedArrays arrays_of(KernelResidual& module) {
  NamedArrays arrays;
  for_each_array(module, [&](const std::string& name, at::Tensor& tensor) {
    const at::Tensor values = tensor.detach().to(at::kDouble).contiguous();
    const double* begin = values.const_data_ptr<double>();
    arrays[name] = {values.sizes().vec(), std::vector<double>(begin, begin + values.numel())};
  });
  return arrays;
}

// A module of double numbers that holds `arrays`.
std::unique_ptr<KernelResidual> module_of(const NamedArrays& arrays, const KernelRows& rows) {
  std::vector<std::int64_t> hidden;
  for (std::size_t layer = 0; arrays.contains("weight_" + std::to_string(layer + 1)); ++layer) {
    hidden.push_back(arrays.at("weight_" + std::to_string(layer)).shape.at(0));
  }
  auto module = std::make_unique<KernelResidual>(sizes_of(rows, hidden), at::make_generator<at::CPUGeneratorImpl>(0));
  module->to(at::kDouble);
  const at::NoGradGuard no_grad;
  for_each_array(*module, [&](const std::string& name, at::Tensor& tensor) {
    const auto found = arrays.find(name);
    if (found == arrays.end()) throw InvalidArgumentError(concat("the fitted numbers have no array '", name, "'"));
    if (found->second.shape != tensor.sizes().vec()) {
      throw InvalidArgumentError(concat("array '", name, "' has shape ", shape_text(found->second.shape),
                                        ", these rows need ", shape_text(tensor.sizes().vec())));
    }
    std::copy(found->second.values.begin(), found->second.values.end(), tensor.mutable_data_ptr<double>());
  });
  return module;
}

KernelResidual::Learnt mean_of(const std::vector<std::unique_ptr<KernelResidual>>& members, const KernelBatch& batch) {
  const auto learnt_by = [&](const KernelResidual& member) {
    KernelBatch scaled = batch;
    scaled.inputs = member.scaled(batch.inputs);
    return member.learnt(scaled);
  };
  KernelResidual::Learnt mean = learnt_by(*members.front());
  const auto parts_of = [](KernelResidual::Learnt& learnt) {
    LearntOfKernels& kernels = learnt.kernels;
    return std::array{&kernels.outputs, &kernels.device, &kernels.version, &kernels.memory,
                      &kernels.l2,      &kernels.launch, &learnt.host};
  };
  const auto parts = parts_of(mean);
  for (std::size_t i = 1; i < members.size(); ++i) {
    KernelResidual::Learnt next = learnt_by(*members[i]);
    for (std::size_t part = 0; part < parts.size(); ++part) {
      *parts.at(part) = *parts.at(part) + *parts_of(next).at(part);
    }
  }
  for (at::Tensor* part : parts) *part = *part / static_cast<double>(members.size());
  return mean;
}

void append_exp(const at::Tensor& logarithms, std::vector<double>& values) {
  const at::Tensor seconds = logarithms.exp().contiguous();
  const double* begin = seconds.const_data_ptr<double>();
  values.insert(values.end(), begin, begin + seconds.numel());
}

KernelResidualFit fit_checked(const KernelRows& rows, const KernelResidualOptions& options,
                              const EpochDone& epoch_done) {
  const OneThread one_thread;
  const at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(options.seed);
  KernelResidual module(sizes_of(rows, options.hidden), generator);
  KernelBatch all = collate(rows, at::kFloat);
  module.set_scale(select(all, at::arange(rows.num_rows(), at::kLong)).inputs);
  all.inputs = module.scaled(all.inputs);
  torch::optim::Adam adam(module.parameters(), torch::optim::AdamOptions(options.learning_rate));
  const auto tensor_of = [](std::span<const double> values) {
    return torch::tensor(std::vector<double>(values.begin(), values.end()), torch::kFloat);
  };
  const KernelResidualPriors priors{options.chip_sd,
                                    options.chip_memory_sd,
                                    options.device_sd,
                                    options.device_memory_sd,
                                    options.gap_sd,
                                    options.launch_sd,
                                    options.host_sd,
                                    options.kind_sd,
                                    options.memory_sd,
                                    tensor_of(rows.version_sd),
                                    tensor_of(rows.version_gap_sd),
                                    tensor_of(rows.host_kind_sd),
                                    tensor_of(rows.host_column_sd)};
  const double mean_weight =
      std::accumulate(rows.weight.begin(), rows.weight.end(), 0.0) / static_cast<double>(rows.num_rows());
  check_positive("the mean weight", mean_weight);

  const std::int64_t batches_of_epoch = (rows.num_rows() + options.batch_rows - 1) / options.batch_rows;
  const auto num_steps = static_cast<double>(options.epochs * batches_of_epoch);
  double step = 0;
  KernelResidualFit result;
  for (std::int64_t epoch = 0; epoch < options.epochs; ++epoch) {
    const at::Tensor order = at::randperm(rows.num_rows(), generator, at::kLong);
    double summed_loss = 0;
    for (const at::Tensor& part : order.tensor_split(batches_of_epoch)) {
      const KernelBatch batch = select(all, part);
      const double rate = options.learning_rate * one_cycle_rate(step / num_steps);
      for (auto& group : adam.param_groups()) group.options().set_lr(rate);
      step += 1;
      adam.zero_grad();
      const at::Tensor predicted = KernelResidual::log_seconds(batch, module.learnt(batch)).latency;
      const at::Tensor each =
          at::huber_loss(predicted, batch.log_latency, at::Reduction::None, options.huber_beta) / options.huber_beta;
      const at::Tensor loss = (each * batch.weight).mean() / mean_weight;
      (loss + options.prior_weight * module.prior_penalty(priors) + options.weight_penalty * module.weight_penalty())
          .backward();
      adam.step();
      summed_loss += loss.item<double>() * static_cast<double>(part.numel());
    }
    result.losses.push_back(summed_loss / static_cast<double>(rows.num_rows()));
    if (epoch_done) epoch_done(epoch + 1, result.losses.back());
  }
  result.arrays = arrays_of(module);
  return result;
}

}  // namespace

KernelResidualFit fit_kernel_residual(const KernelRows& rows, const KernelResidualOptions& options,
                                      const EpochDone& epoch_done) {
  check_options(options);
  check(rows);
  if (rows.latency_s.empty()) throw InvalidArgumentError("a fit needs the latency of each call, got none");
  return with_short_errors([&] { return fit_checked(rows, options, epoch_done); });
}

PredictedSeconds predict_kernel_residual(const std::vector<NamedArrays>& members, const KernelRows& rows) {
  if (members.empty()) throw InvalidArgumentError("a prediction needs at least one fitted member");
  check(rows);
  return with_short_errors([&] {
    const at::NoGradGuard no_grad;
    std::vector<std::unique_ptr<KernelResidual>> modules;
    for (const NamedArrays& arrays : members) modules.push_back(module_of(arrays, rows));
    const KernelBatch all = collate(rows, at::kDouble);
    PredictedSeconds result;
    for (std::int64_t begin = 0; begin < rows.num_rows(); begin += kPredictedRows) {
      const std::int64_t end = std::min(begin + kPredictedRows, rows.num_rows());
      const KernelBatch batch = select(all, at::arange(begin, end, at::kLong));
      const KernelResidual::LogSeconds predicted = KernelResidual::log_seconds(batch, mean_of(modules, batch));
      append_exp(predicted.latency, result.latency_s);
      append_exp(predicted.host, result.host_s);
    }
    return result;
  });
}

}  // namespace latpred
