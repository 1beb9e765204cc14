#include "predict/situation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "checkpoint_writer.h"
#include "latpred/error.h"
#include "latpred/interval.h"
#include "message_of.h"
#include "prepared_network.h"

namespace latpred {
namespace {

using testing::alike_array;
using testing::alike_entry;
using testing::convolution_network;
using testing::manifest_text;
using testing::PreparedNetwork;
using testing::write_checkpoint;

// What the manifest's test text has (known_device 0.1, unknown_device 0.2, batches 2 to 64), and terms by situation.
Evidence evidence_with(SituationTerms terms, const std::vector<std::vector<double>>& signatures = {}) {
  std::string more;
  std::map<std::string, CheckpointArray> arrays;
  if (!signatures.empty()) {
    more = concat(", ", alike_entry(signatures.size(), "A100-SXM4-40GB|eager"));
    arrays["alike_networks"] = alike_array(signatures);
  }
  const std::string manifest = manifest_text("linear", R"("rows": {})", more);
  Evidence evidence = evidence_of(read_checkpoint(write_checkpoint("flat", manifest, arrays), "linear"));
  evidence.situation = std::move(terms);
  return evidence;
}

PreparedNetwork network(std::int64_t batch = 8, std::string_view runtime_name = "eager",
                        std::string_view device_name = "A100") {
  return {convolution_network({}), batch, device(device_name), "", runtime_name, "fp32"};
}

std::vector<double> signature_of(const PreparedNetwork& asked) {
  const auto signature = AlikeNetworks::signature_of(asked.input());
  return {signature.begin(), signature.end()};
}

// The signature of networks that are like none of convolutions.
std::vector<double> attention_alone() {
  std::vector<double> signature(kNumCostKinds);
  signature[static_cast<std::size_t>(CostKind::attention)] = 1;
  return signature;
}

TEST(Situation, WithoutTermsEveryWidthIsTheTypicalOne) {
  const Evidence evidence = evidence_with({});
  for (const std::int64_t batch : {1, 8, 4096}) {
    EXPECT_DOUBLE_EQ(relative_width(evidence, network(batch).input(), true), 1);
    EXPECT_DOUBLE_EQ(relative_width(evidence, network(batch, "compiled").input(), false), 1);
  }
}

TEST(Situation, AMeasuredNetworkIsNotNewAndOneOfOtherKindsIs) {
  const PreparedNetwork asked = network();
  const std::vector<double> others = attention_alone();
  EXPECT_DOUBLE_EQ(novelty(evidence_with({.new_network = 3}, {others}), asked.input(), false), 1);
  const Evidence evidence = evidence_with({.near_network = 0.5, .new_network = 3}, {others, signature_of(asked)});
  EXPECT_NEAR(novelty(evidence, asked.input(), false), 0, 1e-12);
  EXPECT_NEAR(novelty(evidence, asked.input(), true), 0, 1e-12);
  EXPECT_NEAR(relative_width(evidence, asked.input(), false), 0.5, 1e-12);
  EXPECT_NEAR(relative_width(evidence_with({.near_network = 0.5, .new_network = 3}, {others}), asked.input(), false),
              1.5, 1e-12);
}

TEST(Situation, ANetworkOfOtherDevicesIsNewWhereFewFamiliesWereMeasured) {
  const PreparedNetwork asked = network(8, "compiled");  // it ran eagerly
  Evidence evidence = evidence_with({.new_network = 3}, {signature_of(asked)});
  EXPECT_NEAR(novelty(evidence, asked.input(), false), 0, 1e-12);
  EXPECT_NEAR(novelty(evidence, asked.input(), true), 1, 1e-12);
  std::int64_t& families = evidence.families["A100-SXM4-40GB"]["compiled"];
  families = 8;
  EXPECT_NEAR(novelty(evidence, asked.input(), true), 0.5, 1e-12);
  EXPECT_NEAR(relative_width(evidence, asked.input(), true), std::sqrt(3), 1e-12);
  families = 64;
  EXPECT_NEAR(novelty(evidence, asked.input(), true), 0, 1e-12);
}

TEST(Situation, WhatUntriedFamiliesLackWidensAllPartsOfANewNetwork) {
  const PreparedNetwork asked = network();
  const std::vector<double> others = attention_alone();
  const SituationTerms terms{.near_network = 0.6, .untried_network = 1.5, .runtimes = {{"eager", 0.8}}};
  EXPECT_NEAR(relative_width(evidence_with(terms, {others}), asked.input(), true), 1.5, 1e-12);
  EXPECT_NEAR(relative_width(evidence_with(terms, {others, signature_of(asked)}), asked.input(), true), 1, 1e-12);
}

TEST(Situation, ATableHasAnotherFactorForNewNetworks) {
  const PreparedNetwork asked = network();
  const std::vector<double> others = attention_alone();
  const SituationTerms terms{.tables = {{"A100-SXM4-40GB", {{"eager", 1.5}}}},
                             .new_tables = {{"A100-SXM4-40GB", {{"eager", 0.5}}}}};
  const Evidence of_new = evidence_with(terms, {others});
  EXPECT_NEAR(relative_width(of_new, asked.input(), true), 0.75, 1e-12);
  EXPECT_NEAR(relative_width(of_new, asked.input(), false), 1, 1e-12);
  EXPECT_NEAR(relative_width(evidence_with(terms, {others, signature_of(asked)}), asked.input(), true), 1.5, 1e-12);
}

TEST(Situation, NoveltyGrowsWithTheDistance) {
  const PreparedNetwork asked = network();
  double before = 0;
  for (const double share : {0.001, 0.003, 0.01, 0.03}) {
    std::vector<double> other = signature_of(asked);
    for (double& root : other) root *= std::sqrt(1 - share);
    other[static_cast<std::size_t>(CostKind::attention)] = std::sqrt(share);
    const double found = novelty(evidence_with({.new_network = 3}, {other}), asked.input(), false);
    EXPECT_GT(found, before);
    before = found;
  }
  EXPECT_DOUBLE_EQ(before, 1);
}

TEST(Situation, SmallBatchesWidenTheirRuntimesPartAndBatchesOutsideAll) {
  const Evidence evidence = evidence_with({.near_network = 0.6, .small_batch = 8, .runtimes = {{"compiled", 0.8}}});
  const auto at = [&](std::int64_t batch, std::string_view runtime_name) {
    return relative_width(evidence, network(batch, runtime_name).input(), true);
  };
  EXPECT_NEAR(at(8, "compiled"), 1, 1e-12);
  EXPECT_NEAR(at(64, "compiled"), 1, 1e-12);
  EXPECT_NEAR(at(4, "compiled"), std::hypot(0.6, 1.6), 1e-12);
  EXPECT_NEAR(at(2, "compiled"), std::hypot(0.6, 3.2), 1e-12);
  EXPECT_NEAR(at(2, "eager"), 0.6, 1e-12);
  EXPECT_NEAR(at(1, "compiled"), 2 * std::hypot(0.6, 6.4), 1e-12);  // small, and below the measured 2
  EXPECT_NEAR(at(256, "compiled"), 4, 1e-12);                       // two octaves above the measured 64
  EXPECT_NEAR(at(256, "eager"), 4 * 0.6, 1e-12);
}

TEST(Situation, FewerFamiliesAreWiderOnMeasuredDevicesAlone) {
  Evidence evidence = evidence_with({.few_families = 4});
  const PreparedNetwork asked = network();
  const auto with = [&](std::int64_t families) {
    evidence.families["A100-SXM4-40GB"]["eager"] = families;
    return relative_width(evidence, asked.input(), true);
  };
  EXPECT_NEAR(with(0), 4, 1e-12);
  EXPECT_NEAR(with(1), 4, 1e-12);
  EXPECT_NEAR(with(8), 2, 1e-12);
  EXPECT_NEAR(with(64), 1, 1e-12);
  EXPECT_NEAR(with(200), 1, 1e-12);
  EXPECT_NEAR(relative_width(evidence, network(8, "compiled").input(), true), 4, 1e-12);  // none by that runtime
  EXPECT_NEAR(relative_width(evidence, asked.input(), false), 1, 1e-12);
}

TEST(Situation, TheRuntimeAddsInQuadratureAndTheTableIsAFactor) {
  const Evidence evidence = evidence_with(
      {.near_network = 0.6, .runtimes = {{"compiled", 0.8}}, .tables = {{"A100-SXM4-40GB", {{"compiled", 1.5}}}}});
  EXPECT_NEAR(relative_width(evidence, network(8, "compiled").input(), true), 1.5, 1e-12);
  EXPECT_NEAR(relative_width(evidence, network(8, "compiled").input(), false), 1, 1e-12);
  EXPECT_NEAR(relative_width(evidence, network(8, "compiled", "V100").input(), true), 1, 1e-12);
  EXPECT_NEAR(relative_width(evidence, network().input(), true), 0.6, 1e-12);
}

TEST(Situation, AVersionThatIsNotSaidOrNotMeasuredThereAddsInQuadrature) {
  Evidence evidence = evidence_with({.near_network = 0.6, .other_version = 0.8});
  const PreparedNetwork network_asked = network();
  LatencyInput asked = network_asked.input();
  EXPECT_NEAR(relative_width(evidence, asked, true), 0.6, 1e-12);  // no versions of it were told apart
  evidence.versions["eager"] = {"torch 2.4.0"};
  EXPECT_NEAR(relative_width(evidence, asked, true), 1, 1e-12);
  EXPECT_NEAR(relative_width(evidence, network(8, "tensorrt").input(), true), 0.6, 1e-12);
  asked.version = "torch 2.4.0";
  EXPECT_NEAR(relative_width(evidence, asked, true), 0.6, 1e-12);
  evidence.device_versions["T4"]["eager"] = {"torch 2.9.1"};
  evidence.device_versions["A100-SXM4-40GB"]["compiled"] = {"torch 2.9.1"};
  EXPECT_NEAR(relative_width(evidence, asked, true), 0.6, 1e-12);  // none of this runtime on this device
  evidence.device_versions["A100-SXM4-40GB"]["eager"] = {"torch 2.9.1"};
  EXPECT_NEAR(relative_width(evidence, asked, true), 1, 1e-12);
  const std::vector<std::string> notes = coverage(evidence, asked).notes;
  EXPECT_EQ(std::ranges::count(notes, "eager by torch 2.4.0 was measured on other devices only"), 1);
  EXPECT_FALSE(coverage(evidence, asked).version_measured);
  evidence.device_versions["A100-SXM4-40GB"]["eager"] = {"torch 2.4.0", "torch 2.9.1"};
  EXPECT_NEAR(relative_width(evidence, asked, true), 0.6, 1e-12);
  asked.unmeasured_version = "torch 2.6";
  EXPECT_NEAR(relative_width(evidence, asked, true), 1, 1e-12);
  const std::vector<std::string> stood_for = coverage(evidence, asked).notes;
  EXPECT_EQ(std::ranges::count(stood_for, "eager by torch 2.6 was not measured: torch 2.4.0 stands for it"), 1);
}

TEST(Situation, AKernelThatStandsAloneHasTheWidthOfItsKind) {
  SituationTerms terms;
  terms.operators[static_cast<std::size_t>(CostKind::conv)] = 0.4;
  const Evidence evidence = evidence_with(terms);
  PreparedNetwork asked = network();
  const auto width = [&](double conv_s, double relu_s) {
    asked.features.physics[0].roofline_s = conv_s;
    asked.features.physics[1].roofline_s = relu_s;
    const Kernel* lone = lone_kernel(asked.input());
    return lone == nullptr ? std::nullopt : lone_width(evidence, *lone);
  };
  EXPECT_EQ(width(0.95, 0.05), 0.4);
  EXPECT_EQ(width(0.85, 0.15), std::nullopt);
  EXPECT_EQ(width(0, 1), std::nullopt);  // unary operators were not measured alone
  EXPECT_EQ(width(0, 0), std::nullopt);
  EXPECT_EQ(lone_width(evidence_with({}), asked.kernels.rows[0]), std::nullopt);

  ASSERT_EQ(width(1, 0.01), 0.4);
  Coverage covered = coverage(evidence, asked.input());
  covered.device_measured = covered.runtime_measured = covered.whole_device = true;
  const LatencyOutput output{.latency_s = 2e-3, .kernel_s = {0, 0}};
  EXPECT_NEAR(latency_interval(evidence, covered, asked.input(), output).log_half_width, 0.4, 1e-12);
  asked.kernels.rows[0].repeat = 2;  // two of a kind even out
  EXPECT_EQ(width(1, 0.01), std::nullopt);
}

TEST(Situation, OperatorsMeasuredOnADeviceMeasureItForTheOneThatStandsAlone) {
  Evidence evidence = evidence_with({});
  evidence.devices.clear();
  PreparedNetwork asked = network();
  const auto is_measured = [&](double conv_s, double relu_s) {
    asked.features.physics[0].roofline_s = conv_s;
    asked.features.physics[1].roofline_s = relu_s;
    return coverage(evidence, asked.input()).device_measured;
  };
  EXPECT_FALSE(is_measured(0.95, 0.05));
  evidence.operator_arithmetics["A100-SXM4-40GB"].set(static_cast<std::size_t>(Arithmetic::fp16));
  EXPECT_FALSE(is_measured(0.95, 0.05));  // it computes in float32
  evidence.operator_arithmetics["A100-SXM4-40GB"].set(static_cast<std::size_t>(Arithmetic::fp32));
  EXPECT_TRUE(is_measured(0.95, 0.05));
  EXPECT_FALSE(is_measured(0.85, 0.15));
  // Networks ran products in another arithmetic there, the operators in this one.
  evidence.device_arithmetics["A100-SXM4-40GB"].set(static_cast<std::size_t>(Arithmetic::fp16));
  evidence.precisions = {"fp32"};
  EXPECT_FALSE(coverage(evidence, asked.input()).precision_measured);
  ASSERT_TRUE(is_measured(0.95, 0.05));
  EXPECT_TRUE(coverage(evidence, asked.input()).precision_measured);
}

TEST(Situation, IsReadFromTheCheckpoint) {
  std::string manifest = manifest_text("linear",
                                       R"("families": {"A100-SXM4-40GB": {"eager": 3}}, )"
                                       R"("versions": {"eager": ["torch 1.13", "torch 2.4.0"]}, )"
                                       R"("device_versions": {"T4": {"eager": ["torch 1.13"]}}, "rows": {})",
                                       R"(, "interval_runtimes": {"compiled": {"value": 0.5}},)"
                                       R"("interval_tables": {"T4": {"tensorrt": {"value": 1.25}}},)"
                                       R"("interval_new_tables": {"T4": {"tensorrt": {"value": 0.75}}},)"
                                       R"("interval_operators": {"matmul": {"value": 0.3}})");
  const std::string terms = R"("interval_terms": {)";
  manifest.insert(manifest.find(terms) + terms.size(),
                  R"("near_network": {"value": 0.5}, "new_network": {"value": 3}, "small_batch": {"value": 2}, )"
                  R"("untried_network": {"value": 1.5}, )"
                  R"("few_families": {"value": 2.5}, "other_version": {"value": 0.25}, )");
  std::string with_networks = manifest;
  with_networks.insert(1, concat(alike_entry(2, "T4|eager"), ", "));
  const CheckpointArray networks = alike_array({2, std::vector<double>(kNumCostKinds, 0.25)});
  const Evidence evidence =
      evidence_of(read_checkpoint(write_checkpoint("law", with_networks, {{"alike_networks", networks}}), "linear"));
  EXPECT_DOUBLE_EQ(evidence.situation.near_network, 0.5);
  EXPECT_DOUBLE_EQ(evidence.situation.new_network, 3);
  EXPECT_DOUBLE_EQ(evidence.situation.untried_network, 1.5);
  EXPECT_DOUBLE_EQ(evidence.situation.small_batch, 2);
  EXPECT_DOUBLE_EQ(evidence.situation.few_families, 2.5);
  EXPECT_DOUBLE_EQ(evidence.situation.other_version, 0.25);
  EXPECT_EQ(evidence.versions.at("eager"), (std::vector<std::string>{"torch 1.13", "torch 2.4.0"}));
  EXPECT_EQ(evidence.device_versions.at("T4").at("eager"), std::vector<std::string>{"torch 1.13"});
  EXPECT_DOUBLE_EQ(evidence.situation.runtimes.at("compiled"), 0.5);
  EXPECT_DOUBLE_EQ(evidence.situation.tables.at("T4").at("tensorrt"), 1.25);
  EXPECT_DOUBLE_EQ(evidence.situation.new_tables.at("T4").at("tensorrt"), 0.75);
  EXPECT_DOUBLE_EQ(evidence.situation.operators[static_cast<std::size_t>(CostKind::matmul)], 0.3);
  EXPECT_DOUBLE_EQ(evidence.situation.operators[static_cast<std::size_t>(CostKind::conv)], 0);
  EXPECT_EQ(evidence.families.at("A100-SXM4-40GB").at("eager"), 3);
  EXPECT_FALSE(evidence.alike.empty());

  const auto message = [](const std::string& text) {
    return testing::message_of<CheckpointError>(
        [&] { (void)evidence_of(read_checkpoint(write_checkpoint("law", text), "linear")); });
  };
  EXPECT_NE(message(manifest).find("need 'alike_networks', which are missing"), std::string::npos);
  const std::string narrowing = R"("small_batch": {"value": 2})";
  manifest.replace(manifest.find(narrowing), narrowing.size(), R"("small_batch": {"value": 0.5})");
  EXPECT_NE(message(manifest).find("interval term 'small_batch' must be a number >= 1, is 0.5"), std::string::npos);
}

TEST(Situation, NoIntervalIsNarrowerThanTwoRunsOfOneNetworkDiffer) {
  const Evidence evidence = evidence_with({.near_network = 1e-6});
  const PreparedNetwork asked = network();
  Coverage covered = coverage(evidence, asked.input());
  covered.device_measured = covered.runtime_measured = covered.whole_device = true;
  const LatencyOutput output{.latency_s = 2e-3, .kernel_s = {0, 0}};
  EXPECT_NEAR(latency_interval(evidence, covered, asked.input(), output).log_half_width, 1.2816 * 0.018, 1e-9);
}

}  // namespace
}  // namespace latpred
