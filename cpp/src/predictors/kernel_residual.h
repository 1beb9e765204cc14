#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <vector>

#include "batch/kernel_batch.h"
#include "predictors/kernel_sums.h"

namespace latpred {

// How many effects of each sort a module has learnt, none not counted.
struct KernelResidualSizes {
  std::int64_t num_columns = 0;
  std::int64_t num_kinds = 0;
  std::int64_t num_chips = 0;
  std::int64_t num_devices = 0;
  std::int64_t num_versions = 0;
  std::int64_t num_launches = 0;
  std::int64_t num_hosts = 0;
  std::int64_t num_host_kinds = 0;
  std::int64_t num_host_columns = 0;
  std::vector<std::int64_t> hidden;
};

// Prior standard deviations of effects, on the log scale.
struct KernelResidualPriors {
  double chip_sd = 0;  // on compute
  double chip_memory_sd = 0;
  double device_sd = 0;  // on compute
  double device_memory_sd = 0;
  double gap_sd = 0;  // of a chip or device
  double launch_sd = 0;
  double host_sd = 0;  // of one host beside those of its chip and runtime
  double kind_sd = 0;
  double memory_sd = 0;       // of a kind of memory
  at::Tensor version_sd;      // [versions], but for the gap
  at::Tensor version_gap_sd;  // [versions]
  at::Tensor host_kind_sd;    // [host kinds]
  at::Tensor host_column_sd;  // [H]
};

// Seconds of each kernel from its physics and learnt inverse efficiencies, summed over a call and joined with the
// host's time: predict/kernel_residual.cpp evaluates the same form.
class KernelResidual : public torch::nn::Module {
 public:
  // Weights are drawn from `generator` alone.
  KernelResidual(const KernelResidualSizes& sizes, at::Generator generator);

  // Takes mean and deviation of the columns from the inputs that it will be trained on.
  void set_scale(const at::Tensor& inputs /* [u, F] */);

  // Inputs as the layers take them: once for all batches of a fit.
  [[nodiscard]] at::Tensor scaled(const at::Tensor& inputs /* [u, F] */) const;

  // What members of an ensemble give that is averaged before the physics.
  struct Learnt {
    LearntOfKernels kernels;
    at::Tensor host;  // [B]
  };
  [[nodiscard]] Learnt learnt(const KernelBatch& batch /* its inputs scaled */) const;
  struct LogSeconds {
    at::Tensor latency;  // [B]
    at::Tensor host;     // [B]: what the host takes, some of it while the device computes
  };
  [[nodiscard]] static LogSeconds log_seconds(const KernelBatch& batch, const Learnt& learnt);

  // Half the sum of squares over prior variances, and of the weights.
  [[nodiscard]] at::Tensor prior_penalty(const KernelResidualPriors& priors) const;
  [[nodiscard]] at::Tensor weight_penalty() const;

 private:
  struct Layer {
    at::Tensor weight;
    at::Tensor bias;
  };
  std::vector<Layer> layers_;
  at::Tensor input_mean_;           // [F]
  at::Tensor input_deviation_;      // [F]
  at::Tensor output_bounds_;        // [5]
  at::Tensor base_;                 // [5]
  at::Tensor kind_bias_;            // [kinds, 5]
  at::Tensor chip_effects_;         // [chips, 5]
  at::Tensor device_effects_;       // [devices, 5]
  at::Tensor version_effects_;      // [versions, 4]
  at::Tensor launch_effects_;       // [launches] of a chip and runtime
  at::Tensor host_effects_;         // [hosts]
  at::Tensor memory_effects_;       // [memory kinds]
  at::Tensor host_kind_effects_;    // [host kinds]
  at::Tensor host_column_effects_;  // [H]
  at::Tensor l2_;                   // [2]
};

}  // namespace latpred
