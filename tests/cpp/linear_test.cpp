// The linear form on numbers chosen here.

#include <gtest/gtest.h>

#include "checkpoint_writer.h"
#include "latpred/error.h"
#include "latpred/predictor.h"
#include "message_of.h"
#include "prepared_network.h"

namespace latpred {
namespace {

using testing::manifest_text;
using testing::PreparedNetwork;
using testing::write_checkpoint;

std::unique_ptr<Predictor> make(const std::vector<double>& coefficients) {
  return predictor_row("linear").make(
      write_checkpoint("linear", manifest_text("linear"), {{"coefficients", {{4}, coefficients}}}));
}

TEST(Linear, WeighsFlopsActivationsWeightsAndLaunches) {
  const PreparedNetwork asked(testing::random_network(3), 16, device("A100"), "", "kernel");
  const LatencyOutput output = make({2, 3, 4, 5e-6})->latency(asked.input());
  for (std::size_t k = 0; k < output.kernel_s.size(); ++k) {
    const Kernel& kernel = asked.kernels.rows[k];
    const KernelPhysics& physics = asked.features.physics[k];
    const double moved = 3 * (kernel.bytes_in + kernel.bytes_out) + 4 * kernel.weight_bytes;
    EXPECT_NEAR(output.kernel_s[k], 2 * physics.compute_s + moved / physics.bandwidth_bytes_per_s + 5e-6, 1e-15);
  }
  EXPECT_EQ(output.host_wait_s, 0);
}

TEST(Linear, NegativeCoefficientsAreRefused) {
  EXPECT_NE(testing::message_of<CheckpointError>([] { (void)make({1, -1, 1, 0}); }).find("must be >= 0"),
            std::string::npos);
}

}  // namespace
}  // namespace latpred
