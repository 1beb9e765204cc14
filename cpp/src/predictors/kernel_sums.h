#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "batch/kernel_batch.h"
#include "latpred/kernel_terms.h"

namespace latpred {

inline constexpr auto kNumOutputs = static_cast<std::int64_t>(kOutputBounds.size());
inline constexpr std::int64_t kNumDeviceEffects = kNumComputeUnits + 2;
inline constexpr std::int64_t kNumVersionEffects = kNumKernelLibraries + 1;  // memory's where no library has one

// What the seconds of the kernels of B calls are made of besides physics; u different inputs of kernels.
struct LearntOfKernels {
  // [u, 5]: log inverse compute, log inverse memory, logit of the wave exponent, log gap, logit of the exponent of the
  // SMs' cycles in memory time, of which the bandwidth's is the rest
  at::Tensor outputs;
  at::Tensor device;   // [B, 5]: compute on each sort of units, memory, gap
  at::Tensor version;  // [B, 4]: convolutions, other products, memory, gap
  at::Tensor memory;   // [kinds + 1]: of the kind of memory, the first of none
  at::Tensor l2;       // [2]: log of the share of L2 that holds, logit of the time share of what it holds
  at::Tensor launch;   // [kinds + 1]: log of the host's time for a launch over what is known of it, the first of none
};

// [2, B]: the seconds of a call's kernels, and its launches weighted by what they take the host. Like what graph_sums
// has, one loop over the kernels that finds the gradients with the sums: composed of general operations, it wrote and
// read a number of each kernel at every step of the form.
[[nodiscard]] at::Tensor sum_kernels(const KernelBatch& batch, const LearntOfKernels& learnt);

}  // namespace latpred
