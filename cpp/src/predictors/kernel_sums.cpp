#include "predictors/kernel_sums.h"

#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace latpred {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr double kNoBytes = 1e-3;  // keeps memory time above 0 where a kernel moves none

// Places in LearntOfKernels.
constexpr std::int64_t kCompute = 0, kMemory = 1, kWave = 2, kGap = 3, kCycles = 4;
constexpr std::int64_t kOnMemory = kNumComputeUnits, kOnGap = kOnMemory + 1;
constexpr auto kNoLibrary = static_cast<std::int32_t>(KernelLibrary::none);
constexpr std::int64_t kVersionOfMemory = kNoLibrary, kVersionOfGap = kVersionOfMemory + 1;

// What the sums are made of, in the order in which autograd passes and keeps it: what was learnt, then the batch.
enum Part : std::uint8_t {
  outputs_part,
  device_part,
  version_part,
  memory_part,
  l2_part,
  launch_part,
  num_learnt,
  first_kernel_part = num_learnt,
  numbers_part,
  indices_part,
  num_parts,
  slopes_part = num_parts,
};

// Derivatives of a kernel's seconds, all its repeats, by what was learnt; of its launches by their kind.
enum Slope : std::uint8_t {
  by_compute,
  by_memory,
  by_wave,
  by_gap,
  by_share,
  by_held,
  by_cycles,
  of_launch,
  num_slopes,
};

double logistic(double value) { return 1 / (1 + std::exp(-value)); }

template <typename Number>
double number(const Number* kernel, KernelNumber which) {
  return static_cast<double>(kernel[static_cast<std::size_t>(which)]);
}
std::int32_t index(const std::int32_t* kernel, KernelIndex which) { return kernel[static_cast<std::size_t>(which)]; }

template <typename Number>
std::vector<double> exponentials(const at::Tensor& values) {
  std::vector<double> result(static_cast<std::size_t>(values.numel()));
  const auto* from = values.const_data_ptr<Number>();
  std::transform(from, from + values.numel(), result.begin(), [](Number value) { return std::exp(value); });
  return result;
}

template <typename Number>
void add_up(const variable_list& saved, Number* sums /* [2, B] */, Number* slopes /* [k, num_slopes] */) {
  const at::Tensor &outputs = saved[outputs_part], &device = saved[device_part], &version = saved[version_part],
                   &l2 = saved[l2_part];
  const auto memory_factor = exponentials<Number>(saved[memory_part]);
  const auto launch_factor = exponentials<Number>(saved[launch_part]);
  const auto output_factor = exponentials<Number>(outputs);
  const auto device_factor = exponentials<Number>(device);
  const auto version_factor = exponentials<Number>(version);
  const double l2_share = std::exp(static_cast<double>(l2.const_data_ptr<Number>()[0]));
  const double held = logistic(static_cast<double>(l2.const_data_ptr<Number>()[1]));
  const auto* first = saved[first_kernel_part].const_data_ptr<std::int64_t>();
  const auto* kernel = saved[numbers_part].const_data_ptr<Number>();
  const auto* places = saved[indices_part].const_data_ptr<std::int32_t>();
  const std::int64_t num_calls = device.size(0);

  for (std::int64_t call = 0; call < num_calls; ++call) {
    const double* of_device = device_factor.data() + call * kNumDeviceEffects;
    const double* of_version = version_factor.data() + call * kNumVersionEffects;
    double seconds = 0;
    double launches = 0;
    for (std::int64_t k = first[call]; k < first[call + 1];
         ++k, kernel += kNumKernelNumbers, places += kNumKernelIndices, slopes += num_slopes) {
      const double* output = output_factor.data() + index(places, KernelIndex::input) * kNumOutputs;
      const std::int32_t library = index(places, KernelIndex::library);
      const double count = number(kernel, KernelNumber::count);

      const double exponent = output[kWave] / (1 + output[kWave]);
      const double log_wave = number(kernel, KernelNumber::log_wave);
      const std::int32_t units = index(places, KernelIndex::units);
      const double free_compute = number(kernel, KernelNumber::compute_s) * output[kCompute] * of_device[units] *
                                  (library == kNoLibrary ? 1 : of_version[library]) * std::exp(exponent * log_wave);
      const double compute = std::max(free_compute, number(kernel, KernelNumber::least_compute_s));

      const double activations = number(kernel, KernelNumber::activation_bytes);
      const double fullness = activations / (number(kernel, KernelNumber::l2_bytes) * l2_share);
      const double fill = fullness * fullness;
      const double spilt = fill / (1 + fill);
      const double traffic =
          number(kernel, KernelNumber::weight_bytes) + activations * (held + (1 - held) * spilt) + kNoBytes;
      const double cycles = output[kCycles] / (1 + output[kCycles]);
      const double log_cycles = number(kernel, KernelNumber::log_cycles_per_byte);
      const double free_memory = traffic / number(kernel, KernelNumber::bandwidth_bytes_per_s) *
                                 std::exp(-cycles * log_cycles) * output[kMemory] * of_device[kOnMemory] *
                                 of_version[kVersionOfMemory] * memory_factor[index(places, KernelIndex::memory_kind)];
      const double memory = std::max(free_memory, number(kernel, KernelNumber::least_memory_s));

      // The norm of 3: neither hides the other where they are alike.
      const double cubes = compute * compute * compute + memory * memory * memory;
      const double busy = std::cbrt(cubes);
      const double gap =
          output[kGap] * of_device[kOnGap] * of_version[kVersionOfGap] * number(kernel, KernelNumber::gap_scale);
      const double weight =
          count * number(kernel, KernelNumber::host_weight) * launch_factor[index(places, KernelIndex::host_kind)];
      seconds += count * (busy + gap);
      launches += weight;

      const double compute_share = compute * compute * compute / cubes;
      const double slope_of_compute = free_compute < compute ? 0 : count * busy * compute_share;
      const double slope_of_memory = free_memory < memory ? 0 : count * busy * (1 - compute_share);
      slopes[by_compute] = static_cast<Number>(slope_of_compute);
      slopes[by_memory] = static_cast<Number>(slope_of_memory);
      slopes[by_wave] = static_cast<Number>(slope_of_compute * log_wave * exponent * (1 - exponent));
      slopes[by_gap] = static_cast<Number>(count * gap);
      const double of_traffic = slope_of_memory / traffic * activations;
      slopes[by_share] = static_cast<Number>(of_traffic * (1 - held) * -2 * spilt / (1 + fill));
      slopes[by_held] = static_cast<Number>(of_traffic * held * (1 - held) * (1 - spilt));
      slopes[by_cycles] = static_cast<Number>(-slope_of_memory * log_cycles * cycles * (1 - cycles));
      slopes[of_launch] = static_cast<Number>(weight);
    }
    sums[call] = static_cast<Number>(seconds);
    sums[num_calls + call] = static_cast<Number>(launches);
  }
}

template <typename Number>
variable_list gradients_of(const variable_list& saved, const at::Tensor& d_sums) {
  variable_list d_learnt;
  for (std::size_t i = 0; i < num_learnt; ++i) d_learnt.push_back(at::zeros_like(saved[i]));
  const auto to = [&](std::size_t i) { return d_learnt[i].mutable_data_ptr<Number>(); };
  Number *d_outputs = to(outputs_part), *d_device = to(device_part), *d_version = to(version_part),
         *d_memory = to(memory_part), *d_l2 = to(l2_part), *d_launch = to(launch_part);
  const auto* first = saved[first_kernel_part].const_data_ptr<std::int64_t>();
  const auto* places = saved[indices_part].const_data_ptr<std::int32_t>();
  const auto* slopes = saved[slopes_part].const_data_ptr<Number>();
  const std::int64_t num_calls = saved[device_part].size(0);
  const auto* of_seconds = d_sums.const_data_ptr<Number>();
  const auto* of_launches = of_seconds + num_calls;
  double share = 0, held = 0;
  for (std::int64_t call = 0; call < num_calls;
       ++call, d_device += kNumDeviceEffects, d_version += kNumVersionEffects) {
    const Number scale = of_seconds[call];
    for (std::int64_t k = first[call]; k < first[call + 1]; ++k, places += kNumKernelIndices, slopes += num_slopes) {
      Number* d_output = d_outputs + index(places, KernelIndex::input) * kNumOutputs;
      const std::int32_t library = index(places, KernelIndex::library);
      const Number compute = scale * slopes[by_compute];
      const Number memory = scale * slopes[by_memory];
      const Number gap = scale * slopes[by_gap];
      d_output[kCompute] += compute;
      d_output[kMemory] += memory;
      d_output[kWave] += scale * slopes[by_wave];
      d_output[kGap] += gap;
      d_output[kCycles] += scale * slopes[by_cycles];
      d_device[index(places, KernelIndex::units)] += compute;
      d_device[kOnMemory] += memory;
      d_device[kOnGap] += gap;
      if (library != kNoLibrary) d_version[library] += compute;
      d_version[kVersionOfMemory] += memory;
      d_version[kVersionOfGap] += gap;
      d_memory[index(places, KernelIndex::memory_kind)] += memory;
      d_launch[index(places, KernelIndex::host_kind)] += of_launches[call] * slopes[of_launch];
      share += static_cast<double>(scale * slopes[by_share]);
      held += static_cast<double>(scale * slopes[by_held]);
    }
  }
  d_l2[0] = static_cast<Number>(share);
  d_l2[1] = static_cast<Number>(held);
  d_learnt.resize(num_parts);  // the batch has no gradient
  return d_learnt;
}

class SumKernels : public torch::autograd::Function<SumKernels> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& outputs, const at::Tensor& device,
                            const at::Tensor& version, const at::Tensor& memory, const at::Tensor& l2,
                            const at::Tensor& launch, const at::Tensor& first_kernel, const at::Tensor& numbers,
                            const at::Tensor& indices) {
    variable_list saved{outputs.contiguous(),
                        device.contiguous(),
                        version.contiguous(),
                        memory,
                        l2,
                        launch,
                        first_kernel,
                        numbers,
                        indices};
    const at::Tensor sums = at::empty({2, device.size(0)}, device.options());
    const at::Tensor slopes = at::empty({numbers.size(0), num_slopes}, device.options());
    AT_DISPATCH_FLOATING_TYPES(device.scalar_type(), "sum_kernels", [&] {
      add_up(saved, sums.mutable_data_ptr<scalar_t>(), slopes.mutable_data_ptr<scalar_t>());
    });
    saved.push_back(slopes);
    context->save_for_backward(std::move(saved));
    return sums;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const at::Tensor d_sums = gradients[0].contiguous();
    variable_list d_learnt;
    AT_DISPATCH_FLOATING_TYPES(d_sums.scalar_type(), "sum_kernels",
                               [&] { d_learnt = gradients_of<scalar_t>(context->get_saved_variables(), d_sums); });
    return d_learnt;
  }
};

}  // namespace

at::Tensor sum_kernels(const KernelBatch& batch, const LearntOfKernels& learnt) {
  return SumKernels::apply(learnt.outputs, learnt.device, learnt.version, learnt.memory, learnt.l2, learnt.launch,
                           batch.first_kernel, batch.numbers, batch.indices);
}

}  // namespace latpred
