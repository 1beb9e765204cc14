#include <gtest/gtest.h>

#include "latpred/error.h"
#include "latpred/measure.h"
#include "message_of.h"

namespace latpred {
namespace {

using testing::message_of;

const Sample kQuick{.wall_s = 1.0, .cpu_s = 0.9};
const Sample kSlow{.wall_s = 2.0, .cpu_s = 1.9};
const Sample kInterrupted{.wall_s = 7.0, .cpu_s = 1.2, .context_switches = 2};
const Sample kInterruptedToo{.wall_s = 9.0, .cpu_s = 1.4, .context_switches = 1};

Protocol labelled(std::string rule, std::int64_t threads = 1) {
  Protocol result;
  result.label = std::move(rule);
  result.threads = threads;
  return result;
}

TEST(Label, clean_is_the_median_of_the_runs_without_context_switch) {
  const Label label = choose_label({kInterrupted, kQuick, kSlow, kInterruptedToo}, labelled("clean"));
  EXPECT_EQ(label.latency_s, 1.5);
  EXPECT_EQ(label.times_s, (std::vector<double>{1.0, 2.0}));
  EXPECT_EQ(label.how, "median wall clock of 2 of 4 runs, without context switch");
}

TEST(Label, where_all_were_interrupted_clean_is_cpu_time) {
  const Label label = choose_label({kInterrupted, kInterruptedToo}, labelled("clean"));
  EXPECT_DOUBLE_EQ(label.latency_s, 1.3);
  EXPECT_EQ(label.how, "median thread CPU time of 2 runs, each with a context switch");
}

// A sleep takes no CPU time.
TEST(Label, what_waits_by_itself_is_no_case_for_cpu_time) {
  const Sample sleep{.wall_s = 5.0, .cpu_s = 0.001, .waits = 1};
  EXPECT_EQ(choose_label({sleep}, labelled("clean")).latency_s, 5.0);
  const Sample interrupted_sleep{.wall_s = 6.0, .cpu_s = 0.001, .context_switches = 1, .waits = 1};
  const Label label = choose_label({interrupted_sleep}, labelled("clean"));
  EXPECT_EQ(label.latency_s, 6.0);
  EXPECT_EQ(label.how, "median wall clock of 1 runs");
}

TEST(Label, several_threads_have_a_wall_clock_only) {
  for (const std::string rule : {"clean", "cpu", "wall"}) {
    EXPECT_EQ(choose_label({kQuick, kInterrupted, kInterruptedToo}, labelled(rule, 2)).latency_s, 7.0) << rule;
  }
}

TEST(Label, other_rules) {
  const std::vector<Sample> samples{kQuick, kInterrupted, kSlow};
  EXPECT_EQ(choose_label(samples, labelled("wall")).latency_s, 2.0);
  EXPECT_EQ(choose_label(samples, labelled("cpu")).latency_s, 1.2);
  const Label label = choose_label(samples, labelled("mean"));
  EXPECT_DOUBLE_EQ(label.latency_s, 10.0 / 3);
  EXPECT_EQ(label.how, "mean wall clock of 3 runs");
  EXPECT_EQ(label_rules().size(), 4U);
}

TEST(Label, needs_a_sample) {
  EXPECT_EQ(message_of<InvalidArgumentError>([] { (void)choose_label({}, Protocol()); }),
            "a label needs at least one sample, got none");
}

}  // namespace
}  // namespace latpred
