#include "workloads/plain_net_meter.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "latpred/error.h"
#include "latpred/pinning.h"

namespace latpred {
namespace {

constexpr std::int64_t kPoolBytes = std::int64_t{64} << 20;

Protocol short_protocol() {
  Protocol protocol;
  protocol.name = "test";
  protocol.warm_up = 1;
  protocol.min_samples = 5;
  protocol.max_samples = 5;
  protocol.max_repetitions = 1;
  return protocol;
}

TEST(PlainNetMeter, MeasuresEachNetOfAList) {
  PlainNetMeter meter(kPoolBytes);
  const auto found = meter.measure({{{16, 16}}, {{1024, 1024, 1024}}, {{3, 64, 64}, 32}}, 1, short_protocol());
  ASSERT_EQ(found.size(), 3U);
  for (const Measurement& measurement : found) {
    EXPECT_EQ(measurement.samples.size(), 5U);
    EXPECT_GT(measurement.latency_s, 0);
    EXPECT_GT(measurement.first_run.wall_s, 0);
    ASSERT_EQ(measurement.versions.size(), 1U);
    EXPECT_EQ(measurement.versions[0].first, "torch");
  }
  // 2 M multiply-adds against 256, and 39 M against 2 M: no neighbour on the core turns these around.
  EXPECT_GT(found[1].latency_s, 3 * found[0].latency_s);
  EXPECT_GT(found[2].latency_s, found[0].latency_s);
}

TEST(PlainNetMeter, CallsBackBeforeEachNetAndEndsWithItsError) {
  PlainNetMeter meter(kPoolBytes);
  int calls = 0;
  const auto stop_at_third = [&calls] {
    if (++calls == 3) throw ProfilerError("stopped");
  };
  EXPECT_THROW(static_cast<void>(
                   meter.measure({{{4, 4}}, {{4, 4}}, {{4, 4}}, {{4, 4}}}, 1, short_protocol(), -1, stop_at_third)),
               ProfilerError);
  EXPECT_EQ(calls, 3);
}

TEST(PlainNetMeter, GivesThreadsAndCoresBack) {
  const int threads = at::get_num_threads();
  const std::vector<int> cores = allowed_cores();
  PlainNetMeter meter(kPoolBytes);
  EXPECT_THROW(static_cast<void>(meter.measure({{{4}}}, 1, short_protocol())), InvalidArgumentError);
  EXPECT_EQ(at::get_num_threads(), threads);
  EXPECT_EQ(allowed_cores(), cores);
}

TEST(PlainNetMeter, MovesWithItsPool) {
  PlainNetMeter meter(kPoolBytes);
  PlainNetMeter moved = std::move(meter);
  EXPECT_EQ(moved.pool_bytes(), kPoolBytes);
  EXPECT_TRUE(moved.measure({}, 1, short_protocol()).empty());
}

}  // namespace
}  // namespace latpred
