#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "batch/kernel_rows.h"

namespace latpred {

// The columns of numbers and of indices that a kernel has, as KernelRows; the wave factor and the SMs' cycles as
// logarithms, which the form multiplies by what it learns.
enum class KernelNumber : std::uint8_t {
  count,
  compute_s,
  log_wave,
  activation_bytes,
  weight_bytes,
  bandwidth_bytes_per_s,
  l2_bytes,
  least_compute_s,
  least_memory_s,
  gap_scale,
  log_cycles_per_byte,
  host_weight,
};
inline constexpr std::int64_t kNumKernelNumbers = 12;
enum class KernelIndex : std::uint8_t { input, units, library, memory_kind, host_kind };
inline constexpr std::int64_t kNumKernelIndices = 5;

// Calls as tensors of one floating type: B calls, k kernels, u different inputs. Logarithms of seconds.
struct KernelBatch {
  at::Tensor inputs;        // [u, F]
  at::Tensor input_kind;    // [u]
  at::Tensor first_kernel;  // [B + 1]
  at::Tensor numbers;       // [k, kNumKernelNumbers]
  at::Tensor indices;       // [k, kNumKernelIndices], input into u

  at::Tensor launches;      // [B]
  at::Tensor view_weight;   // [B]
  at::Tensor log_host;      // [B]
  at::Tensor host_columns;  // [B, H]
  at::Tensor log_copy;      // [B]
  at::Tensor device;        // [B]
  at::Tensor chip;
  at::Tensor version;
  at::Tensor launch;
  at::Tensor host;
  at::Tensor shows_host;   // [B] booleans; undefined where nothing is learnt
  at::Tensor log_latency;  // [B]; undefined where none was measured
  at::Tensor weight;       // likewise

  std::int64_t view_kind = 0;
};

// Refuses arrays whose sizes disagree, indices outside and numbers that are not finite or not positive where they must.
void check(const KernelRows& rows);

// All of checked rows, once: batches are cut from it.
[[nodiscard]] KernelBatch collate(const KernelRows& rows, at::ScalarType type);

// The calls `which` [B] of `all`, with the inputs that they use.
[[nodiscard]] KernelBatch select(const KernelBatch& all, const at::Tensor& which);

}  // namespace latpred
