#include "latpred/alike_networks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "checkpoint_writer.h"
#include "latpred/error.h"
#include "latpred/kernel_terms.h"
#include "latpred/text.h"
#include "message_of.h"
#include "prepared_network.h"

namespace latpred {
namespace {

using testing::alike_array;
using testing::alike_entry;
using testing::convolution_network;
using testing::message_of;
using testing::PreparedNetwork;

constexpr double kOff = 0.3;
constexpr double kRest = 0.1;

std::vector<double> signature_of(const PreparedNetwork& network) {
  const auto found = AlikeNetworks::signature_of(network.input());
  return {found.begin(), found.end()};
}

Checkpoint checkpoint(const std::vector<double>& signature, std::string_view place = "A100-SXM4-40GB|eager",
                      std::string_view width = "0.06") {
  return {"x",
          parse_json(concat("{", alike_entry(1, place, width), "}")),
          {{"alike_networks", alike_array({signature}, kOff, kRest)}}};
}

PreparedNetwork network(std::string_view on = "A100", std::int64_t batch = 8, std::string_view part = "",
                        std::string_view runtime_name = "eager") {
  return {convolution_network({.channels = 64}), batch, device(on), part, runtime_name, "fp32"};
}

TEST(AlikeNetworks, NetworksLikeMeasuredOnesAreCorrectedByWhatThoseWereOff) {
  const PreparedNetwork asked = network();
  const AlikeNetworks known(checkpoint(signature_of(asked)));
  EXPECT_NEAR(std::log(known.factor(asked.input())), kOff / (1 + 5) + kRest / (1 + 0.5), 1e-9);
  EXPECT_EQ(AlikeNetworks().factor(asked.input()), 1);
}

TEST(AlikeNetworks, OtherDevicesAndRuntimesShareTheFirstPartAlone) {
  const PreparedNetwork asked = network();
  const AlikeNetworks elsewhere(checkpoint(signature_of(asked), "RTX 3090|eager"));
  EXPECT_NEAR(std::log(elsewhere.factor(asked.input())), kOff / (1 + 5), 1e-9);
  const PreparedNetwork on_cpu = network("Xeon Gold 6240");
  EXPECT_EQ(AlikeNetworks(checkpoint(signature_of(on_cpu))).factor(on_cpu.input()), 1);
}

TEST(AlikeNetworks, AllBatchesAndPartsHaveOneFactor) {
  const AlikeNetworks known(checkpoint(signature_of(network())));
  const double factor = known.factor(network().input());
  EXPECT_GT(factor, 1.1);
  for (const std::int64_t batch : {1, 2, 64, 1024}) {
    EXPECT_NEAR(known.factor(network("A100", batch).input()), factor, 1e-9) << batch;
  }
  EXPECT_DOUBLE_EQ(known.factor(network("A100", 8, "1g.5gb").input()), factor);
  Device faster = device("A100");
  faster.fp32_flops_per_s = 1.5 * *faster.fp32_flops_per_s;
  EXPECT_DOUBLE_EQ(
      known.factor(PreparedNetwork(convolution_network({.channels = 64}), 8, faster, "", "eager", "fp32").input()),
      factor);
}

TEST(AlikeNetworks, SignatureHoldsTheRootsOfTheSharesOfTime) {
  const PreparedNetwork asked = network();
  const auto signature = AlikeNetworks::signature_of(asked.input());
  double total = 0;
  for (const double root : signature) total += root * root;
  EXPECT_NEAR(total, 1, 1e-12);
  const double conv_s = nominal_s(asked.kernels.rows[0]);
  const double relu_s = nominal_s(asked.kernels.rows[1]);
  EXPECT_NEAR(signature[static_cast<std::size_t>(CostKind::conv)], std::sqrt(conv_s / (conv_s + relu_s)), 1e-12);
}

TEST(AlikeNetworks, DistanceIsToTheNearest) {
  const PreparedNetwork asked = network();
  EXPECT_NEAR(AlikeNetworks(checkpoint(signature_of(asked))).distance(asked.input()), 0, 1e-12);
  EXPECT_NEAR(AlikeNetworks().distance(asked.input()), std::sqrt(2), 1e-12);
  const AlikeNetworks elsewhere(checkpoint(signature_of(asked), "RTX 3090|eager"));
  EXPECT_NEAR(elsewhere.distance(asked.input()), 0, 1e-12);
  EXPECT_NEAR(elsewhere.distance_there(asked.input()), std::sqrt(2), 1e-12);
  EXPECT_NEAR(elsewhere.distance_there(network("RTX 3090").input()), 0, 1e-12);
}

TEST(AlikeNetworks, FarFromAllOfThemNothingIsCorrected) {
  std::vector<double> other(kNumCostKinds);
  other[static_cast<std::size_t>(CostKind::softmax)] = 1;
  EXPECT_NEAR(AlikeNetworks(checkpoint(other)).factor(network().input()), 1, 1e-9);
}

TEST(AlikeNetworks, BadEntriesAreRefused) {
  const auto message = [](const Checkpoint& made) {
    return message_of<CheckpointError>([&] { (void)AlikeNetworks(made); });
  };
  const std::vector<double> row = signature_of(network());
  EXPECT_EQ(message(checkpoint(row, "A100-SXM4-40GB|eager", "0")), "alike_networks: width must be positive, is 0");
  Checkpoint missing = checkpoint(row);
  missing.arrays.clear();
  EXPECT_EQ(message(missing), "checkpoint 'x' has no array 'alike_networks'");
  Checkpoint negative = checkpoint(row);
  negative.arrays.at("alike_networks").values[kNumCostKinds] = -1;
  EXPECT_EQ(message(negative), "alike_networks: a point has -1 calls");
}

}  // namespace
}  // namespace latpred
