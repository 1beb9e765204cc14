#include "latpred/measure.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "latpred/error.h"
#include "message_of.h"
#include "recorded_clock.h"

namespace latpred {
namespace {

using testing::message_of;
using testing::RecordedClock;
using testing::undisturbed;

void nothing() {}

Protocol counted(std::int64_t warm_up, std::int64_t samples) {
  Protocol result = protocol("khan");
  result.warm_up = warm_up;
  result.min_samples = result.max_samples = samples;
  result.threshold = static_cast<double>(samples);
  return result;
}

TEST(Measure, keeps_the_first_run_apart) {
  RecordedClock clock(undisturbed({9, 3, 1, 2, 5, 4}));
  int runs = 0;
  const Measurement result = measure([&] { ++runs; }, protocol("khan"), clock);
  EXPECT_EQ(runs, 6);
  EXPECT_EQ(result.first_run.wall_s, 9);
  EXPECT_EQ(result.samples.size(), 5U);
  EXPECT_EQ(result.latency_s, 3);
  EXPECT_EQ(result.statistics.mean, 3);
  EXPECT_EQ(result.label, "median wall clock of 5 of 5 runs, without context switch");
  EXPECT_EQ(result.stopped_by, "count");
  EXPECT_EQ(result.total_s, 24);
  EXPECT_EQ(result.protocol, "khan: 1 warm-up, 5 samples, label clean");
  EXPECT_EQ(result.clock, "recorded");
  EXPECT_EQ(result.device_fingerprint, "a tape");
}

TEST(Measure, without_warm_up_the_first_run_is_a_sample) {
  RecordedClock clock(undisturbed({9, 3, 1}));
  const Measurement result = measure(&nothing, counted(0, 3), clock);
  EXPECT_EQ(result.first_run.wall_s, 9);
  EXPECT_EQ(result.samples.size(), 3U);
}

TEST(Measure, warms_up_for_a_time_too) {
  RecordedClock clock(undisturbed({0.25}));
  Protocol asked = counted(2, 3);
  asked.warm_up_s = 1;
  EXPECT_EQ(measure(&nothing, asked, clock).samples.size(), 3U);
  EXPECT_EQ(clock.stops(), 4 + 3);
}

TEST(Measure, stops_when_the_criterion_is_satisfied_and_enough_was_asked_for) {
  RecordedClock clock(undisturbed({0.01}));
  Protocol asked;
  EXPECT_EQ(measure(&nothing, asked, clock).samples.size(), 10U);  // min_samples; the criterion is content with 5
  asked.min_s = 0.195;
  const Measurement longer = measure(&nothing, asked, clock);
  EXPECT_EQ(longer.samples.size(), 20U);
  EXPECT_EQ(longer.stopped_by, "relative_standard_deviation");
}

TEST(Measure, stops_at_the_limits) {
  std::vector<double> growing;
  for (double time_s = 1; growing.size() < 100; time_s *= 1.5) growing.push_back(time_s);
  Protocol asked;
  asked.timeout_s = 1e30;
  asked.max_samples = 40;
  asked.max_repetitions = 1;
  RecordedClock clock(undisturbed(growing));
  const Measurement many = measure(&nothing, asked, clock);
  EXPECT_EQ(many.samples.size(), 40U);
  EXPECT_EQ(many.stopped_by, "max_samples");

  asked.timeout_s = 5;
  RecordedClock slow(undisturbed({2}));
  const Measurement late = measure(&nothing, asked, slow);  // three warm-ups take 6 s
  EXPECT_EQ(late.samples.size(), 1U);
  EXPECT_EQ(late.stopped_by, "timeout");
  EXPECT_EQ(late.first_run.wall_s, 2);
}

// Lilou's rule. A coefficient of variation of 0.105 and then one of 0.010.
TEST(Measure, measures_again_what_varies_by_more_than_five_percent) {
  RecordedClock clock(undisturbed({1.0, 0.9, 1.1, 0.9, 1.1, 0.99, 1.01, 0.99, 1.01}));
  Protocol asked = counted(1, 4);
  asked.max_repetitions = 3;
  const Measurement result = measure(&nothing, asked, clock);
  EXPECT_EQ(clock.stops(), 1 + 4 + 4);
  ASSERT_EQ(result.discarded.size(), 1U);
  EXPECT_EQ(result.discarded[0][0].wall_s, 0.9);
  EXPECT_EQ(result.samples[0].wall_s, 0.99);
  EXPECT_TRUE(result.is_stable);
}

TEST(Measure, gives_up_after_some_repetitions_and_says_so) {
  RecordedClock clock(undisturbed({1.0, 0.9, 1.1, 0.92, 1.08, 0.8, 1.2, 0.99, 1.01}));
  Protocol asked = counted(1, 2);
  asked.max_repetitions = 3;
  const Measurement result = measure(&nothing, asked, clock);
  EXPECT_EQ(clock.stops(), 1 + 3 * 2);
  EXPECT_EQ(result.samples[0].wall_s, 0.92);  // the one that varied least
  EXPECT_EQ(result.discarded.size(), 2U);
  EXPECT_FALSE(result.is_stable);
}

TEST(Measure, prepares_before_each_sample_and_times_no_preparation) {
  RecordedClock clock(undisturbed({1}));
  std::string log;
  Protocol asked = counted(1, 2);
  asked.runs_per_sample = 2;
  (void)measure([&] { log += clock.is_running() ? "r" : "?"; }, asked, clock,
                [&] { log += clock.is_running() ? "!" : "p"; });
  EXPECT_EQ(log, "prprrprr");
}

TEST(Measure, a_sample_of_several_runs_is_their_mean) {
  RecordedClock clock({{.wall_s = 8, .cpu_s = 6, .context_switches = 3}});
  Protocol asked = counted(0, 1);
  asked.runs_per_sample = 4;
  const Measurement result = measure(&nothing, asked, clock);
  EXPECT_EQ(result.samples[0].wall_s, 2);
  EXPECT_EQ(result.samples[0].cpu_s, 1.5);
  EXPECT_EQ(result.samples[0].context_switches, 3);
}

TEST(Measure, errors_of_the_workload_pass) {
  RecordedClock clock(undisturbed({1}));
  EXPECT_EQ(message_of<ProfilerError>(
                [&] { (void)measure([] { throw ProfilerError("no memory"); }, protocol("khan"), clock); }),
            "no memory");
}

TEST(Measure, refuses_protocols_that_contradict_themselves) {
  const auto refusal = [](auto change) {
    Protocol asked;
    change(asked);
    RecordedClock clock(undisturbed({1}));
    return message_of<InvalidArgumentError>([&] { (void)measure(&nothing, asked, clock); });
  };
  EXPECT_EQ(refusal([](Protocol& p) { p.warm_up = -1; }), "protocol 'default': warm_up must be >= 0, got -1");
  EXPECT_EQ(refusal([](Protocol& p) { p.max_samples = 9; }),
            "protocol 'default': max_samples (9) must not be below min_samples (10)");
  EXPECT_EQ(refusal([](Protocol& p) { p.timeout_s = 0; }), "protocol 'default': timeout_s must be above 0, got 0");
  EXPECT_EQ(refusal([](Protocol& p) { p.threads = 0; }), "protocol 'default': threads must be >= 1, got 0");
  EXPECT_EQ(refusal([](Protocol& p) { p.runs_per_sample = 0; }),
            "protocol 'default': runs_per_sample must be >= 1, got 0");
  EXPECT_EQ(refusal([](Protocol& p) { p.threshold = 0; }), "protocol 'default': threshold must be above 0, got 0");
  EXPECT_EQ(refusal([](Protocol& p) { p.criterion = "cuont"; }),
            "unknown stopping criterion 'cuont'; did you mean 'count'? Valid: count, relative_standard_deviation, "
            "entropy");
  EXPECT_EQ(refusal([](Protocol& p) { p.label = "clear"; }),
            "unknown label rule 'clear'; did you mean 'clean'? Valid: clean, wall, cpu, mean");
}

TEST(Protocol, rows_and_their_text) {
  for (const ProtocolRow& row : protocols()) EXPECT_EQ(row.protocol.name, row.name);
  EXPECT_EQ(protocol_text(protocol("dippm")), "dippm: 5 warm-up, 30 samples, label mean");
  EXPECT_EQ(protocol_text(protocol("default")),
            "default: 3 warm-up, 10 to 1000 samples until relative_standard_deviation 0.01, up to 3 times while "
            "varying by more than 0.05, label clean");
  EXPECT_EQ(protocol_text(protocol("warm")),
            "warm: 1 warm-up and 0.005 s, 5 to 20 samples until count 5, at least 0.005 s, label clean");
  EXPECT_EQ(message_of<InvalidArgumentError>([] { (void)protocol("khann"); }),
            "unknown protocol 'khann'; did you mean 'khan'? Valid: default, entropy, khan, mendoza, dippm, warm");
}

}  // namespace
}  // namespace latpred
