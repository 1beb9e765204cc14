#include "latpred/interval.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "checkpoint_writer.h"
#include "latpred/error.h"
#include "message_of.h"
#include "prepared_network.h"

namespace latpred {
namespace {

using testing::convolution_network;
using testing::manifest_text;
using testing::PreparedNetwork;
using testing::write_checkpoint;

constexpr double kNormal80 = 1.2816;

Evidence evidence_with(std::string_view rows) {
  const std::string path = write_checkpoint("evidence", manifest_text("linear", rows));
  return evidence_of(read_checkpoint(path, "linear"));
}

const Evidence& measured() {
  static const Evidence evidence = evidence_with(R"("rows": {"conv": {"fp32": 5}, "unary": {"fp32": 7}})");
  return evidence;
}

PreparedNetwork network(std::string_view device_name = "A100", std::string_view partition_name = "",
                        std::string_view runtime_name = "eager", std::string_view precision = "fp32",
                        std::int64_t batch = 8) {
  return {convolution_network({}), batch, device(device_name), partition_name, runtime_name, precision};
}

// Two kernels of 1 ms each.
LatencyOutput two_milliseconds() { return {.latency_s = 2e-3, .kernel_s = {1e-3, 1e-3}}; }

double half_width(const Evidence& evidence, const PreparedNetwork& asked, const LatencyOutput& output) {
  const Coverage covered = coverage(evidence, asked.input());
  return latency_interval(evidence, covered, asked.input(), output).log_half_width;
}

TEST(Interval, AnArithmeticOfOtherDevicesIsKnownByAnalogyAlone) {
  Evidence evidence = evidence_with(R"("rows": {"conv": {"fp16": 5, "tf32": 5}, "unary": {"fp16": 7, "fp32": 7}})");
  evidence.precisions = {"tf32", "fp16"};
  const PreparedNetwork tf32 = network("A100", "", "eager", "tf32");
  EXPECT_TRUE(coverage(evidence, tf32.input()).precision_measured);  // nothing is said of devices
  const double without = half_width(evidence, tf32, two_milliseconds());
  evidence.device_arithmetics["A100-SXM4-40GB"].set(static_cast<std::size_t>(Arithmetic::fp16));
  const Coverage covered = coverage(evidence, tf32.input());
  EXPECT_FALSE(covered.precision_measured);
  EXPECT_NE(covered.provenance, "fitted");
  EXPECT_NE(std::ranges::find(covered.notes, "products at tf32 were measured on other devices only"),
            covered.notes.end());
  // The convolution is half of the time.
  EXPECT_NEAR(half_width(evidence, tf32, two_milliseconds()),
              std::hypot(without, kNormal80 * evidence.terms.device_sd / 2), 1e-12);
  const PreparedNetwork fp16 = network("A100", "", "eager", "fp16");
  EXPECT_TRUE(coverage(evidence, fp16.input()).notes.empty() ||
              coverage(evidence, fp16.input()).notes.front().find("other devices") == std::string::npos);
}

TEST(Interval, AVersionIsTheMeasuredOneOrTheOneThatStandsForIt) {
  Evidence evidence = measured();
  evidence.versions["eager"] = {"torch 1.13", "torch 2.4.0", "torch 2.40.0"};
  const auto expect = [&](std::string_view asked, std::string_view found, std::string_view unmeasured = "") {
    const ChosenVersion chosen = choose_version(evidence, "eager", asked);
    EXPECT_EQ(chosen.measured, found);
    EXPECT_EQ(chosen.unmeasured, unmeasured);
  };
  expect("torch 1.13", "torch 1.13");
  expect("torch 2.4", "torch 2.4.0");
  expect("torch 2", "torch 2.40.0");  // the newest
  expect("torch 2.7", "torch 2.4.0", "torch 2.7");
  const auto message = [&](std::string_view runtime_name, std::string_view version) {
    return testing::message_of<InvalidArgumentError>([&] { (void)choose_version(evidence, runtime_name, version); });
  };
  EXPECT_EQ(message("eager", "2.7"),
            "version '2.7' of runtime 'eager' was not measured; measured: 'torch 1.13', 'torch 2.4.0', "
            "'torch 2.40.0'; leave runtime_version out for any other");
  EXPECT_EQ(message("tensorrt", "10"),
            "no versions of runtime 'tensorrt' were told apart: leave runtime_version out, got '10'");
}

TEST(Interval, EvidenceIsReadFromTheManifest) {
  const Evidence& evidence = measured();
  EXPECT_EQ(evidence.devices, std::vector<std::string>{"A100-SXM4-40GB"});
  EXPECT_EQ(evidence.smallest_batch, 2);
  EXPECT_EQ(evidence.largest_batch, 64);
  EXPECT_EQ(evidence.rows[static_cast<std::size_t>(CostKind::unary)][static_cast<std::size_t>(Arithmetic::fp32)], 7);
  EXPECT_EQ(evidence.rows[static_cast<std::size_t>(CostKind::unary)][static_cast<std::size_t>(Arithmetic::fp16)], 0);
  EXPECT_DOUBLE_EQ(evidence.terms.kind_sd, 0.3);
  const std::string path = write_checkpoint("evidence", manifest_text("linear", R"("columns": {})"));
  EXPECT_NE(testing::message_of<CheckpointError>([&] {
              (void)evidence_of(read_checkpoint(path, "linear"));
            }).find("key 'rows' is missing"),
            std::string::npos);
}

TEST(Interval, InsideTheEvidenceIsFitted) {
  const PreparedNetwork asked = network();
  const Coverage covered = coverage(measured(), asked.input());
  EXPECT_EQ(covered.provenance, "fitted");
  EXPECT_TRUE(covered.notes.empty());
  const LatencyInterval interval = latency_interval(measured(), covered, asked.input(), two_milliseconds());
  EXPECT_DOUBLE_EQ(interval.log_half_width, 0.1);
  EXPECT_NEAR(interval.lower_s, 2e-3 * std::exp(-0.1), 1e-12);
  EXPECT_NEAR(interval.upper_s, 2e-3 * std::exp(0.1), 1e-12);
}

TEST(Interval, EachThingOutsideIsNamed) {
  const auto expect = [](const PreparedNetwork& asked, std::string_view provenance, std::string_view note) {
    const Coverage covered = coverage(measured(), asked.input());
    EXPECT_EQ(covered.provenance, provenance) << note;
    ASSERT_EQ(covered.notes.size(), 1U) << note;
    EXPECT_EQ(covered.notes[0], note);
  };
  expect(network("V100"), "extrapolated", "device V100-SXM2-16GB was not measured");
  expect(network("A100", "2g.10gb"), "extrapolated", "partition 2g.10gb: only whole devices were measured");
  expect(network("A100", "", "kernel"), "extrapolated", "runtime kernel was not measured");
  expect(network("A100", "", "eager", "fp32", 65), "extrapolated", "batch 65 is outside the measured 2 to 64");
}

TEST(Interval, PartsAreLessThanDevicesThoughSomeWereMeasured) {
  const Evidence evidence = evidence_with(R"("part_rows": 7, "rows": {"conv": {"fp32": 5}, "unary": {"fp32": 7}})");
  const Coverage covered = coverage(evidence, network("A100", "2g.10gb").input());
  EXPECT_FALSE(covered.whole_device);
  EXPECT_EQ(covered.notes, std::vector<std::string>{"partition 2g.10gb: 7 calls on parts of devices were measured, too "
                                                    "few to tell how far off they are"});
}

TEST(Interval, AnUnmeasuredKindIsInterpolatedAndWidensByItsShare) {
  const Evidence evidence = evidence_with(R"("rows": {"conv": {"fp32": 5}})");
  const PreparedNetwork asked = network();
  const Coverage covered = coverage(evidence, asked.input());
  EXPECT_EQ(covered.provenance, "interpolated");
  EXPECT_EQ(covered.notes, std::vector<std::string>{"efficiency by analogy, not measured: unary at fp32"});
  EXPECT_NEAR(half_width(evidence, asked, two_milliseconds()), std::hypot(0.1, kNormal80 * 0.3 / 2), 1e-12);
}

TEST(Interval, AnOperatorWithoutACostRuleWidensByItsShareOfTheLaunches) {
  PreparedNetwork asked = network();
  const double before = half_width(measured(), asked, two_milliseconds());
  asked.kernels.unknown_operators = {"com.acme::Foo"};
  ASSERT_EQ(asked.kernels.num_launches, 2);
  EXPECT_NEAR(half_width(measured(), asked, two_milliseconds()), std::hypot(before, kNormal80 * 0.3 / 2), 1e-12);
  EXPECT_EQ(coverage(measured(), asked.input()).provenance, "interpolated");
}

TEST(Interval, WithoutTheUnitsAKindCountsAtFloat32) {
  const PreparedNetwork asked = network("V100", "", "eager", "default");  // TF32, which a V100 has not
  EXPECT_TRUE(coverage(measured(), asked.input()).kinds_measured);
  EXPECT_TRUE(coverage(measured(), asked.input()).precision_measured);
  EXPECT_FALSE(coverage(measured(), network("A100", "", "eager", "default").input()).kinds_measured);
}

TEST(Interval, APrecisionThatWasNotMeasuredIsNamed) {
  const Evidence evidence = evidence_with(R"("rows": {"conv": {"tf32": 5}, "unary": {"fp32": 7}})");
  const Coverage covered = coverage(evidence, network("A100", "", "eager", "tf32").input());
  EXPECT_EQ(covered.provenance, "interpolated");
  EXPECT_EQ(covered.notes, std::vector<std::string>{"precision tf32 was not measured"});
}

TEST(Interval, TermsAddInQuadrature) {
  EXPECT_NEAR(half_width(measured(), network("V100"), two_milliseconds()), std::hypot(0.2, kNormal80 * 0.15), 1e-12);
  EXPECT_NEAR(half_width(measured(), network("A100", "2g.10gb"), two_milliseconds()), std::hypot(0.2, kNormal80 * 0.15),
              1e-12);
  EXPECT_NEAR(half_width(measured(), network("A100", "", "kernel"), two_milliseconds()),
              std::hypot(0.1, kNormal80 * 0.12), 1e-12);
  const LatencyOutput waiting{.latency_s = 4e-3, .host_wait_s = 2e-3, .kernel_s = {1e-3, 1e-3}};
  EXPECT_NEAR(half_width(measured(), network(), waiting), std::hypot(0.1, kNormal80 * 0.35 * std::sqrt(0.5)), 1e-12);
}

TEST(Interval, CpusOfAFitOnGpusHaveTheirWidth) {
  const std::string path =
      write_checkpoint("cpu", manifest_text("linear", R"("rows": {"conv": {"fp32": 5}, "unary": {"fp32": 7}})",
                                            R"(, "cpu": {"half_width": {"value": 0.7}})"));
  const Evidence evidence = evidence_of(read_checkpoint(path, "linear"));
  const PreparedNetwork on_cpu = network("Xeon Gold 6240");
  const LatencyOutput waiting{.latency_s = 4e-3, .host_wait_s = 2e-3, .kernel_s = {1e-3, 1e-3}};
  EXPECT_DOUBLE_EQ(half_width(evidence, on_cpu, waiting), 0.7);
  EXPECT_NEAR(half_width(evidence, network("Xeon Gold 6240", "", "onnxruntime"), waiting),
              std::hypot(0.7, kNormal80 * 0.12), 1e-12);
  EXPECT_EQ(half_width(evidence, network(), waiting), half_width(measured(), network(), waiting));
  const Coverage covered = coverage(evidence, on_cpu.input());
  EXPECT_EQ(covered.provenance, "extrapolated");
  EXPECT_TRUE(covered.notes.back().starts_with("fitted on GPUs: of CPUs only")) << covered.notes.back();
}

TEST(Interval, AMeasuredDeviceIsNoWorseKnownThanOthers) {
  Evidence evidence = measured();
  evidence.terms.known_device = 0.4;
  const double of_others = half_width(evidence, network("V100"), two_milliseconds());
  EXPECT_NEAR(of_others, std::hypot(0.2, kNormal80 * 0.15), 1e-12);
  EXPECT_DOUBLE_EQ(half_width(evidence, network("A100"), two_milliseconds()), of_others);
  EXPECT_DOUBLE_EQ(half_width(evidence, network("A100", "2g.10gb"), two_milliseconds()), of_others);
}

TEST(Interval, AllOfADeviceIsTheDevice) {
  EXPECT_EQ(coverage(measured(), network("A100", "100%").input()).provenance, "fitted");
  EXPECT_DOUBLE_EQ(half_width(measured(), network("A100", "100%"), two_milliseconds()), 0.1);
  EXPECT_EQ(coverage(measured(), network("A100", "7g.40gb").input()).provenance, "extrapolated");  // 98 of 108 SMs
}

TEST(Interval, ABiasShiftsTheIntervalButThePointStaysInside) {
  Evidence evidence = measured();
  evidence.terms.log_bias = 0.3;
  const PreparedNetwork asked = network();
  const LatencyInterval interval =
      latency_interval(evidence, coverage(evidence, asked.input()), asked.input(), two_milliseconds());
  EXPECT_DOUBLE_EQ(interval.lower_s, 2e-3);
  EXPECT_NEAR(interval.upper_s, 2e-3 * std::exp(0.4), 1e-12);
}

TEST(Interval, PhysicsAloneIsModelled) {
  Evidence evidence = measured();
  evidence.is_fitted = false;
  const Coverage covered = coverage(evidence, network().input());
  EXPECT_EQ(covered.provenance, "modelled");
  EXPECT_EQ(covered.notes, std::vector<std::string>{"predictor 'linear' is physics alone"});
}

}  // namespace
}  // namespace latpred
