#include "latpred/host_clock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <functional>
#include <thread>

#include "latpred/pinning.h"
#include "latpred/reference_workload.h"

namespace latpred {
namespace {

class EveryWorkload : public ::testing::TestWithParam<const char*> {};

// Both clocks see the same runs, whatever else this machine does; where a run was interrupted between the two readings,
// they rightly differ, so that interrupted runs are left out.
TEST_P(EveryWorkload, is_measured_within_two_percent_of_an_independent_clock) {
  ReferenceRun run(GetParam(), 0.001);  // shorter than what a scheduler gives at a time
  Protocol asked = protocol("mendoza");
  asked.warm_up = 0;  // so that sample i is run i
  HostClock clock;
  const Measurement result = measure(std::ref(run), asked, clock);
  const std::vector<double>& independent = run.times_s();
  ASSERT_EQ(result.samples.size(), independent.size());
  double measured_s = 0;
  double true_s = 0;
  for (std::size_t i = 0; i < independent.size(); ++i) {
    if (result.samples[i].context_switches > 0) continue;
    measured_s += result.samples[i].wall_s;
    true_s += independent[i];
  }
  if (true_s == 0) GTEST_SKIP() << "the scheduler interrupted every one of " << independent.size() << " runs";
  EXPECT_NEAR(measured_s / true_s, 1, 0.02);
}

INSTANTIATE_TEST_SUITE_P(HostClock, EveryWorkload, ::testing::Values("sleep", "fma", "stream"),
                         [](const auto& info) { return info.param; });

// The system may wake a thread late, never early.
TEST(HostClock, a_sleep_lasts_as_long_as_asked_and_uses_no_cpu_time) {
  HostClock clock;
  const Measurement result = measure(reference_workload("sleep").make(0.05), protocol("khan"), clock);
  EXPECT_GE(result.statistics.min, 0.05);
  for (const Sample& sample : result.samples) {
    EXPECT_LT(sample.cpu_s, 0.005);
    EXPECT_GE(sample.waits, 1);
  }
}

struct Beside {
  double alone_s = 0;
  double label_s = 0;  // with a busy thread on the core
  double wall_s = 0;   // mean, likewise
  std::int64_t switches = 0;
};

Beside measure_beside_a_busy_neighbour() {
  const PinnedThread pinned;
  const std::function<void()> workload = reference_workload("fma").make(0.03);
  HostClock clock;
  Beside result;
  result.alone_s = measure(workload, protocol("khan"), clock).latency_s;

  std::atomic<bool> is_over = false;
  std::thread neighbour([&] {
    const PinnedThread same_core(pinned.core());
    while (!is_over) {
    }
  });
  const Measurement measured = measure(workload, protocol("khan"), clock);
  is_over = true;
  neighbour.join();

  result.label_s = measured.latency_s;
  for (const Sample& sample : measured.samples) {
    result.switches += sample.context_switches;
    result.wall_s += sample.wall_s / static_cast<double>(measured.samples.size());
  }
  return result;
}

// Two threads on one core: the wall clock counts the other one, the label does not. What other processes do to the
// core's clock and its other half meanwhile changes the label by right: of some tries one is enough.
TEST(HostClock, a_busy_neighbour_on_the_core_does_not_change_the_label) {
  constexpr int kTries = 6;
  Beside found = measure_beside_a_busy_neighbour();
  for (int i = 1; i < kTries && std::abs(found.label_s / found.alone_s - 1) > 0.15; ++i) {
    found = measure_beside_a_busy_neighbour();
  }
  EXPECT_GE(found.switches, 1);
  EXPECT_GT(found.wall_s, 1.3 * found.label_s);
  EXPECT_NEAR(found.label_s / found.alone_s, 1, 0.15);
}

TEST(HostClock, says_whose_time_it_is) {
  HostClock clock;
  EXPECT_NE(clock.name().find("CLOCK_THREAD_CPUTIME_ID"), std::string::npos);
  EXPECT_FALSE(clock.device_fingerprint().empty());
}

}  // namespace
}  // namespace latpred
