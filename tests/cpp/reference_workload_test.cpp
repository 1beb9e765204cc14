#include "latpred/reference_workload.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "latpred/error.h"
#include "latpred/host_clock.h"
#include "message_of.h"

namespace latpred {
namespace {

using testing::message_of;

// Least CPU time of several runs: nothing takes less than the work itself.
double least_s(const std::function<void()>& workload) {
  HostClock clock;
  double result = 1e9;
  for (int i = 0; i < 20; ++i) {
    clock.start();
    workload();
    result = std::min(result, clock.stop().cpu_s);
  }
  return result;
}

TEST(ReferenceWorkload, lasts_about_as_long_as_asked) {
  for (const char* name : {"fma", "stream"}) {
    const double short_s = least_s(reference_workload(name).make(0.002));
    const double long_s = least_s(reference_workload(name).make(0.008));
    EXPECT_GT(short_s, 0.002 / 2) << name;
    EXPECT_LT(short_s, 0.002 * 2) << name;
    EXPECT_GT(long_s, 2 * short_s) << name;
  }
}

TEST(ReferenceRun, times_itself) {
  ReferenceRun run("sleep", 0.002);
  EXPECT_EQ(run.name(), "sleep");
  run();
  run();
  ASSERT_EQ(run.times_s().size(), 2U);
  for (const double time_s : run.times_s()) EXPECT_GE(time_s, 0.002);
}

TEST(ReferenceWorkload, refusals) {
  EXPECT_EQ(message_of<InvalidArgumentError>([] { (void)reference_workload("sleap"); }),
            "unknown reference workload 'sleap'; did you mean 'sleep'? Valid: sleep, fma, stream");
  for (const ReferenceWorkload& row : reference_workloads()) {
    EXPECT_EQ(message_of<InvalidArgumentError>([&] { (void)row.make(0); }),
              "a reference workload lasts more than 0 s, got 0");
  }
}

}  // namespace
}  // namespace latpred
