#include "latpred/memory_fit.h"

#include <algorithm>

#include "latpred/kernel.h"
#include "latpred/memory.h"
#include "latpred/partition.h"
#include "latpred/shapes.h"
#include "memory_interval.h"

namespace latpred {

MemoryFit memory_fit(const Graph& graph, const PredictRequest& request) {
  const Device& device_row = asked_device(request);
  const Runtime& runtime_row = asked_runtime(request, device_row);
  check_units(request, device_row, runtime_row);
  const Kernels kernels = fuse(graph, runtime_row.name, request.precision);
  const MemoryEstimate memory = estimate_memory(graph, kernels, device_row, {.autograd = request.autograd});
  const double usable = partition(device_row, request.partition).memory_bytes;
  const double needed = memory_interval(memory).upper;
  return {.fits = needed <= usable, .usable_bytes = usable, .needed_bytes = needed};
}

std::int64_t largest_batch(const Graph& graph, const PredictRequest& request) {
  const auto fits_at = [&](std::int64_t batch) { return memory_fit(with_batch(graph, batch), request).fits; };
  constexpr std::int64_t kLargestBatch = std::int64_t{1} << 24;  // beyond it a graph has no activation to speak of
  if (!fits_at(1)) return 0;
  std::int64_t fitting = 1;
  std::int64_t failing = 2;
  while (failing <= kLargestBatch && fits_at(failing)) {
    fitting = failing;
    failing *= 2;
  }
  if (failing > kLargestBatch) return fitting;
  const auto last_between = [&](std::int64_t fits, std::int64_t fails) {
    while (fails - fits > 1) {
      const std::int64_t middle = fits + (fails - fits) / 2;
      (fits_at(middle) ? fits : fails) = middle;
    }
    return fits;
  };
  fitting = last_between(fitting, failing);
  // What the allocator keeps may fall with the batch, so that one that does not fit is no bound.
  constexpr std::int64_t kStepsOfAnOctave = 16;
  const auto above = [&](std::int64_t step) {
    return std::min(fitting + fitting * step / kStepsOfAnOctave, kLargestBatch);
  };
  for (std::int64_t step = kStepsOfAnOctave - 1; step > 0 && above(step) > fitting; --step) {
    if (fits_at(above(step))) return last_between(above(step), above(step + 1));
  }
  return fitting;
}

}  // namespace latpred
