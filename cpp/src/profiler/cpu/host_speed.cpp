#include "latpred/host_facts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "latpred/error.h"
#include "latpred/host_clock.h"
#include "latpred/text.h"
#include "profiler/cpu/aligned_buffer.h"
#include "profiler/cpu/simd_loops.h"

namespace latpred {
namespace {

constexpr std::size_t kSmallestSet = std::size_t{16} << 10;    // half of the smallest first-level cache in use
constexpr std::size_t kLargestSet = std::size_t{256} << 20;    // several times the last-level cache that one core gets
constexpr std::int64_t kMemoryShare = 8;                       // of the machine's memory at most
constexpr std::size_t kBytesPerSample = std::size_t{4} << 20;  // small sets are read many times: 20 us and more
constexpr std::int64_t kRoundsPerSample = 20000;               // 100 us at 4 GHz
constexpr double kMultiplyAddShare = 0.1;                      // of the budget

// The least thread CPU time of several runs: interruptions only add.
template <typename Run>
double least_s(const Run& run, double budget_s) {
  HostClock clock;
  const double end_s = clock.now_s() + budget_s;
  double result = 0;
  do {
    clock.start();
    run();
    const double time_s = clock.stop().cpu_s;
    if (result == 0 || time_s < result) result = time_s;
  } while (clock.now_s() < end_s);
  return result;
}

}  // namespace

HostSpeed measure_host(double budget_s) {
  if (!(budget_s > 0)) throw InvalidArgumentError(concat("budget_s must be above 0, got ", budget_s));
  const SimdLoops& loops = simd_loops();
  HostClock clock;
  const double begin_s = clock.now_s();
  HostSpeed result;
  result.kernels = loops.name;

  std::size_t largest = kLargestSet;
  const std::optional<std::int64_t> memory_bytes = host_facts().memory_bytes;
  while (memory_bytes && largest > kSmallestSet && static_cast<std::int64_t>(largest) > *memory_bytes / kMemoryShare) {
    largest /= 2;
  }
  const AlignedBuffer buffer(largest);

  const double multiply_add_s = least_s([&] { loops.multiply_add(kRoundsPerSample); }, kMultiplyAddShare * budget_s);
  result.fp32_flops_per_s = loops.flops_per_round * static_cast<double>(kRoundsPerSample) / multiply_add_s;

  std::vector<std::size_t> sets;
  for (std::size_t set = kSmallestSet; set <= largest; set *= 2) sets.push_back(set);
  for (std::size_t i = 0; i < sets.size(); ++i) {
    // What is left of the budget in equal parts: filling the buffer has taken some of it, and large sets overrun.
    const double left_s = budget_s - (clock.now_s() - begin_s);
    const std::size_t passes = std::max<std::size_t>(1, kBytesPerSample / sets[i]);
    const double read_s = least_s(
        [&] {
          for (std::size_t pass = 0; pass < passes; ++pass) loops.read(buffer.data(), sets[i]);
        },
        std::max(0.0, left_s) / static_cast<double>(sets.size() - i));
    result.read_bandwidth.push_back({static_cast<double>(sets[i]), static_cast<double>(passes * sets[i]) / read_s});
  }
  result.measured_s = clock.now_s() - begin_s;
  return result;
}

}  // namespace latpred
