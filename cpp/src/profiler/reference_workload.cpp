#include "latpred/reference_workload.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "latpred/error.h"
#include "latpred/host_clock.h"
#include "latpred/text.h"
#include "profiler/cpu/aligned_buffer.h"
#include "profiler/cpu/simd_loops.h"

namespace latpred {
namespace {

constexpr std::size_t kStreamBytes = std::size_t{64} << 20;  // more than most last-level caches give to one core
constexpr std::int64_t kTrialRounds = 100000;                // about half a millisecond
constexpr int kTrials = 5;

void check(double seconds) {
  if (!(seconds > 0)) throw InvalidArgumentError(concat("a reference workload lasts more than 0 s, got ", seconds));
}

// The least thread CPU time of a few runs.
double trial_s(const std::function<void()>& run) {
  HostClock clock;
  double least_s = 0;
  for (int i = 0; i < kTrials; ++i) {
    clock.start();
    run();
    const double time_s = clock.stop().cpu_s;
    if (i == 0 || time_s < least_s) least_s = time_s;
  }
  return least_s;
}

double independent_s() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::function<void()> make_sleep(double seconds) {
  check(seconds);
  return [seconds] { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); };
}

std::function<void()> make_multiply_add(double seconds) {
  check(seconds);
  const SimdLoops& loops = simd_loops();
  const double trial = trial_s([&] { loops.multiply_add(kTrialRounds); });
  const auto rounds = static_cast<std::int64_t>(std::max(1.0, seconds / trial * static_cast<double>(kTrialRounds)));
  return [&loops, rounds] { loops.multiply_add(rounds); };
}

std::function<void()> make_stream(double seconds) {
  check(seconds);
  const SimdLoops& loops = simd_loops();
  const auto buffer = std::make_shared<const AlignedBuffer>(kStreamBytes);
  const double trial = trial_s([&] { loops.read(buffer->data(), buffer->size_bytes()); });
  const double steps = std::max(1.0, std::round(seconds / trial * static_cast<double>(kStreamBytes / kReadAlignment)));
  // Each call goes on where the last one ended, so that short ones find no cache either.
  return [&loops, buffer, bytes = static_cast<std::size_t>(steps) * kReadAlignment, offset = std::size_t{0}]() mutable {
    for (std::size_t left = bytes; left > 0;) {
      const std::size_t part = std::min(left, kStreamBytes - offset);
      loops.read(buffer->data() + offset, part);
      offset = (offset + part) % kStreamBytes;
      left -= part;
    }
  };
}

}  // namespace

const std::vector<ReferenceWorkload>& reference_workloads() {
  static const std::vector<ReferenceWorkload> rows{
      {"sleep", "the thread sleeps", &make_sleep},
      {"fma", "fused multiply-adds in registers", &make_multiply_add},
      {"stream", "reads of memory, 64 MiB over and over", &make_stream},
  };
  return rows;
}

const ReferenceWorkload& reference_workload(std::string_view name) {
  std::vector<std::string> valid;
  for (const ReferenceWorkload& row : reference_workloads()) {
    if (row.name == name) return row;
    valid.emplace_back(row.name);
  }
  throw InvalidArgumentError(unknown_name_message("reference workload", name, valid), {.valid = valid});
}

ReferenceRun::ReferenceRun(std::string_view name, double seconds)
    : name_(reference_workload(name).name), run_(reference_workload(name).make(seconds)) {}

void ReferenceRun::operator()() {
  const double begin_s = independent_s();
  run_();
  times_s_.push_back(independent_s() - begin_s);
}

}  // namespace latpred
