#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "batch/kernel_rows.h"
#include "training/named_arrays.h"

namespace latpred {

// How the predictor kernel_residual is fitted. Equal options and equal rows give equal numbers. The values are those of
// trials on folds of families left out.
struct KernelResidualOptions {
  std::vector<std::int64_t> hidden{48, 48};
  std::int64_t epochs = 60;  // families left out are as near after 40, and no nearer after 100 (ship --epochs)
  std::int64_t batch_rows = 512;
  double learning_rate = 0.01;  // the highest, a fifth of the way
  double huber_beta = 0.05;     // relative errors above it count linearly
  double weight_penalty = 2e-5;
  double prior_weight = 3e-5;  // of all priors against the mean loss
  // Prior standard deviations of effects on the log scale.
  double chip_sd = 0.2;  // of what a chip computes
  double chip_memory_sd = 0.1;
  double device_sd = 0.1;  // of one board beside its chip
  // Boards of a chip share its memory controllers: wider, it learnt of TensorRT's rows on an A100 what made PyTorch's
  // there come out 7 % too quick.
  double device_memory_sd = 0.02;
  double gap_sd = 0.3;  // of the time between kernels, by chip or device
  double launch_sd = 0.3;
  double host_sd = 0.3;  // of one host beside those of its chip and runtime
  double kind_sd = 0.7;
  double memory_sd = 0.4;  // of a kind of memory: wide, so that its chips do not draw those of others
  std::uint64_t seed = 0;
};

struct KernelResidualFit {
  NamedArrays arrays;
  std::vector<double> losses;  // [epochs] weighted mean loss
};

// Called after each epoch with their number and its loss; what it throws ends the fit.
using EpochDone = std::function<void(std::int64_t epoch, double loss)>;

[[nodiscard]] KernelResidualFit fit_kernel_residual(const KernelRows& rows, const KernelResidualOptions& options,
                                                    const EpochDone& epoch_done = {});

struct PredictedSeconds {
  std::vector<double> latency_s;  // [N]
  std::vector<double> host_s;     // [N]: what the host takes, some of it while the device computes
};

// By an ensemble: what its members learnt is averaged before the physics.
[[nodiscard]] PredictedSeconds predict_kernel_residual(const std::vector<NamedArrays>& members, const KernelRows& rows);

}  // namespace latpred
