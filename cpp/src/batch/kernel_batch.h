#pragma once

#include <ATen/core/Tensor.h>

#include <span>

#include "batch/kernel_rows.h"

namespace latpred {

// Some calls of KernelRows as tensors of one floating type: B calls, k kernels, u different inputs. Logarithms of
// seconds and bytes, where the form needs them.
struct KernelBatch {
  at::Tensor inputs;      // [u, F]
  at::Tensor input_kind;  // [u]

  at::Tensor input;          // [k], index into u
  at::Tensor row;            // [k], index into B
  at::Tensor row_units;      // [k], row * 3 + units
  at::Tensor row_library;    // [k], row * 3 + library
  at::Tensor count;          // [k]
  at::Tensor log_compute;    // [k]
  at::Tensor log_wave;       // [k]
  at::Tensor log_bandwidth;  // [k]
  at::Tensor activation_bytes;
  at::Tensor weight_bytes;
  at::Tensor l2_bytes;
  at::Tensor log_least_compute;
  at::Tensor log_least_memory;
  at::Tensor log_gap_scale;
  at::Tensor log_cycles_per_byte;
  at::Tensor memory_kind;  // [k], 0: none
  at::Tensor host_kind;    // [k], 0: none
  at::Tensor host_weight;  // [k]

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
};

// Refuses arrays whose sizes disagree, indices outside and numbers that are not finite or not positive where they must.
void check(const KernelRows& rows);

// The calls `which` of checked rows, with the inputs that they use.
[[nodiscard]] KernelBatch collate(const KernelRows& rows, std::span<const std::int64_t> which, at::ScalarType type);

}  // namespace latpred
