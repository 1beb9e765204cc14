// The roofline and the host's side, which all predictors share.

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "checkpoint_writer.h"
#include "latpred/predictor.h"
#include "prepared_network.h"

namespace latpred {
namespace {

using testing::PreparedNetwork;

std::unique_ptr<Predictor> make() {
  return predictor_row("roofline").make(testing::write_checkpoint("roofline", testing::manifest_text("roofline")));
}

TEST(Roofline, IsTheLongerOfComputeAndMemoryTime) {
  const PreparedNetwork asked(testing::random_network(3), 16, device("A100"), "", "kernel");
  const LatencyOutput output = make()->latency(asked.input());
  for (std::size_t k = 0; k < output.kernel_s.size(); ++k) {
    const KernelPhysics& physics = asked.features.physics[k];
    EXPECT_DOUBLE_EQ(output.kernel_s[k], std::max(physics.compute_s, physics.memory_s));
  }
  EXPECT_DOUBLE_EQ(output.latency_s, std::accumulate(output.kernel_s.begin(), output.kernel_s.end(), 0.0));
}

TEST(Roofline, LaunchesJoinByANormOfThree) {
  const PreparedNetwork asked(testing::random_network(3), 16, device("A100"));
  const LatencyOutput output = make()->latency(asked.input());
  const double device_s = std::accumulate(output.kernel_s.begin(), output.kernel_s.end(), 0.0);
  const double host_s = static_cast<double>(asked.kernels.num_launches) * runtime("eager").host_s_per_launch;
  ASSERT_GT(host_s, 0);
  EXPECT_NEAR(output.latency_s, std::cbrt(std::pow(device_s, 3) + std::pow(host_s, 3)), 1e-12);
  EXPECT_DOUBLE_EQ(output.host_wait_s, output.latency_s - device_s);
}

TEST(Roofline, RepeatedKernelsCountEachTime) {
  PreparedNetwork asked(testing::random_network(3), 16, device("A100"), "", "kernel");
  const double once = make()->latency(asked.input()).kernel_s[0];
  asked.kernels.rows[0].repeat = 5;
  EXPECT_DOUBLE_EQ(make()->latency(asked.input()).kernel_s[0], 5 * once);
}

TEST(Roofline, NothingToRunTakesNoTime) {
  PreparedNetwork asked(testing::random_network(3), 16, device("A100"), "", "kernel");
  asked.kernels.rows.clear();
  asked.kernels.num_launches = 0;
  EXPECT_EQ(make()->latency(asked.input()).latency_s, 0);
}

}  // namespace
}  // namespace latpred
