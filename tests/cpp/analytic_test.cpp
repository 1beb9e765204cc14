// The analytic form on numbers chosen here.

#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint_writer.h"
#include "latpred/error.h"
#include "latpred/predictor.h"
#include "latpred/text.h"
#include "message_of.h"
#include "prepared_network.h"

namespace latpred {
namespace {

using testing::convolution_network;
using testing::manifest_text;
using testing::PreparedNetwork;
using testing::write_checkpoint;

constexpr std::int64_t kKinds = kNumCostKinds;
constexpr std::int64_t kArithmetics = kNumArithmetics;
constexpr double kTileElements = 128 * 128;

std::size_t cell(CostKind kind, Arithmetic arithmetic) {
  return static_cast<std::size_t>(kind) * kNumArithmetics + static_cast<std::size_t>(arithmetic);
}

using Arrays = std::map<std::string, CheckpointArray>;

// Every kernel at its roofline, no gap, no edge costs; the sum of compute and memory time.
Arrays neutral_arrays() {
  const std::size_t cells = kNumCostKinds * kNumArithmetics;
  return {{"inverse_compute", {{kKinds, kArithmetics}, std::vector<double>(cells, 1)}},
          {"inverse_memory", {{kKinds, kArithmetics}, std::vector<double>(cells, 1)}},
          {"edge_costs", {{kKinds, kArithmetics, 4}, std::vector<double>(4 * cells, 0)}},
          {"winograd_inverse_compute", {{1}, {1}}},
          {"gap_s", {{1}, {0}}},
          {"kernel_norm", {{1}, {1}}},
          {"device_factors", {{1, 3}, {1, 1, 1}}}};
}

std::unique_ptr<Predictor> make(const Arrays& arrays, std::string_view device_name = "A100-SXM4-40GB") {
  const std::string more = concat(R"(, "device_factors": [")", device_name, R"("])");
  return predictor_row("analytic")
      .make(write_checkpoint("analytic", manifest_text("analytic", R"("rows": {})", more), arrays));
}

double first_kernel_s(const Arrays& arrays, const PreparedNetwork& network) {
  return make(arrays)->latency(network.input()).kernel_s.at(0);
}

PreparedNetwork network(std::int64_t window, std::string_view precision = "fp32", std::string_view on = "A100") {
  return {convolution_network({.channels = 64, .window = window}), 8, device(on), "", "kernel", precision};
}

TEST(Analytic, NeutralNumbersGiveTheSumOfComputeAndMemoryTime) {
  const PreparedNetwork asked = network(5);
  const KernelPhysics& physics = asked.features.physics[0];
  EXPECT_NEAR(first_kernel_s(neutral_arrays(), asked), physics.compute_s + physics.memory_s, 1e-15);
}

TEST(Analytic, EfficienciesGapAndNormAreApplied) {
  Arrays arrays = neutral_arrays();
  arrays["inverse_compute"].values[cell(CostKind::conv, Arithmetic::fp32)] = 1.5;
  arrays["inverse_memory"].values[cell(CostKind::conv, Arithmetic::fp32)] = 1.25;
  arrays["gap_s"].values = {3e-6};
  arrays["kernel_norm"].values = {2};
  arrays["device_factors"].values = {1.2, 7, 1.1};
  const PreparedNetwork asked = network(5);
  const KernelPhysics& physics = asked.features.physics[0];
  const double expected = std::hypot(1.5 * 1.2 * physics.compute_s, 1.25 * 1.1 * physics.memory_s) + 3e-6;
  EXPECT_NEAR(first_kernel_s(arrays, asked), expected, 1e-12 * expected);
}

TEST(Analytic, EdgesAddToTheSizesOfTheProduct) {
  Arrays arrays = neutral_arrays();
  const std::size_t place = 4 * cell(CostKind::conv, Arithmetic::fp32);
  arrays["edge_costs"].values[place] = 10;
  arrays["edge_costs"].values[place + 1] = 20;
  arrays["edge_costs"].values[place + 2] = 30;
  arrays["edge_costs"].values[place + 3] = 0.5;
  const PreparedNetwork asked = network(5);
  const Kernel& kernel = asked.kernels.rows[0];
  const KernelPhysics& physics = asked.features.physics[0];
  const double elements = (kernel.m + 10) * (kernel.n + 20) + 0.5 * asked.part.sms * kTileElements;
  const double expected =
      physics.compute_s * elements * (kernel.k + 30) / (kernel.m * kernel.n * kernel.k) + physics.memory_s;
  EXPECT_NEAR(first_kernel_s(arrays, asked), expected, 1e-12 * expected);
}

TEST(Analytic, OnlyWinogradMayFallBelowTheFloor) {
  Arrays arrays = neutral_arrays();
  std::fill(arrays["inverse_compute"].values.begin(), arrays["inverse_compute"].values.end(), 0.1);
  arrays["winograd_inverse_compute"].values = {0.1};
  const auto compute_factor = [&](const PreparedNetwork& asked) {
    const KernelPhysics& physics = asked.features.physics[0];
    return (first_kernel_s(arrays, asked) - physics.memory_s) / physics.compute_s;
  };
  EXPECT_NEAR(compute_factor(network(5)), 0.9, 1e-9);
  EXPECT_NEAR(compute_factor(network(3)), 1 / 2.25, 1e-9);
  EXPECT_NEAR(compute_factor(network(3, "tf32")), 0.9, 1e-9);
  EXPECT_NEAR(compute_factor(network(3, "tf32", "V100")), 1 / 2.25, 1e-9);  // no TF32 units: float32 runs
}

TEST(Analytic, ADeviceWithoutFactorsIsTakenAtItsDataSheet) {
  Arrays arrays = neutral_arrays();
  arrays["device_factors"].values = {2, 2, 2};
  const PreparedNetwork asked = network(5, "fp32", "V100");
  const KernelPhysics& physics = asked.features.physics[0];
  EXPECT_NEAR(first_kernel_s(arrays, asked), physics.compute_s + physics.memory_s, 1e-15);
}

TEST(Analytic, BadArraysAreRefused) {
  Arrays missing = neutral_arrays();
  missing.erase("gap_s");
  EXPECT_NE(testing::message_of<CheckpointError>([&] { (void)make(missing); }).find("has no array 'gap_s'"),
            std::string::npos);
  Arrays negative = neutral_arrays();
  negative["inverse_memory"].values[3] = -1;
  EXPECT_NE(testing::message_of<CheckpointError>([&] { (void)make(negative); }).find("'inverse_memory' must be >= 0"),
            std::string::npos);
  for (const char* name : {"kernel_norm", "device_factors"}) {
    Arrays zero = neutral_arrays();
    zero[name].values[0] = 0;
    EXPECT_NE(testing::message_of<CheckpointError>([&] { (void)make(zero); }).find(concat("'", name, "' must be > 0")),
              std::string::npos);
  }
}

}  // namespace
}  // namespace latpred
