#include "latpred/calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

#include "checkpoint_writer.h"
#include "latpred/error.h"
#include "latpred/session.h"
#include "message_of.h"
#include "prepared_network.h"

namespace latpred {
namespace {

using testing::convolution_network;
using testing::manifest_text;
using testing::message_of;
using testing::PreparedNetwork;
using testing::random_network;
using testing::write_checkpoint;

constexpr double kNormal80 = 1.2816;

Calibration for_a100() {
  Calibration calibration;
  calibration.name = "mine";
  calibration.device = "A100-SXM4-40GB";
  calibration.runtime = "eager";
  calibration.precision = "default";
  calibration.predictor = predictors().front().name;
  calibration.scale = 1.3;
  calibration.log_sd = 0.05;
  return calibration;
}

std::string data_directory() { return std::string(LATPRED_GOLDEN_DIR) + "/../../python/latpred/data"; }

PredictRequest request_with(const Calibration& calibration) {
  PredictRequest request;
  request.calibration = std::make_shared<Calibration>(calibration);
  return request;
}

double sum_s(const std::vector<KernelRow>& rows) {
  return std::accumulate(rows.begin(), rows.end(), 0.0,
                         [](double sum, const KernelRow& row) { return sum + row.latency_s; });
}

TEST(Calibration, FactorsGoToKernelsAndLaunches) {
  const PreparedNetwork network(convolution_network({}), 8, device("A100"));
  ASSERT_EQ(network.kernels.rows.size(), 2U);  // convolution and ReLU
  Calibration calibration = for_a100();
  calibration.host_scale = 2;
  calibration.kind_factors[static_cast<std::size_t>(CostKind::conv)] = 0.5;
  const LatencyOutput output = calibrated(
      calibration, network.kernels, {.latency_s = 5e-3, .host_wait_s = 2e-3, .kernel_s = {1e-3, 2e-3}, .host_s = 4e-3});
  EXPECT_DOUBLE_EQ(output.kernel_s[0], 1e-3 * 1.3 * 0.5);
  EXPECT_DOUBLE_EQ(output.kernel_s[1], 2e-3 * 1.3);
  EXPECT_DOUBLE_EQ(output.host_s, 8e-3);
  EXPECT_DOUBLE_EQ(output.latency_s, join_host_s(output.kernel_s[0] + output.kernel_s[1], 8e-3));
  EXPECT_NEAR(output.host_wait_s, output.latency_s - output.kernel_s[0] - output.kernel_s[1], 1e-15);
}

TEST(Calibration, WithoutFactorsNothingChangesWhateverPredicts) {
  const Session session(data_directory());
  for (const PredictorRow& row : predictors()) {
    PredictRequest plain;
    plain.predictor = row.name;
    Calibration none = for_a100();
    none.predictor = row.name;
    none.scale.reset();
    PredictRequest request = request_with(none);
    for (unsigned seed = 0; seed < 10; ++seed) {
      const PreparedNetwork network(random_network(seed), 1 + 7 * seed, device("A100"));
      const Prediction before = session.predict(network.graph, plain);
      const Prediction after = session.predict(network.graph, request);
      EXPECT_NEAR(after.latency_s, before.latency_s, 1e-12 * before.latency_s) << row.name;
      EXPECT_NEAR(after.latency_interval_s.upper, before.latency_interval_s.upper, 1e-9 * before.latency_s);
      EXPECT_EQ(after.latency_provenance, before.latency_provenance);
      EXPECT_EQ(after.calibration, "mine");
      EXPECT_EQ(before.calibration, "");
    }
  }
}

TEST(Calibration, RowsOfTheKernelsTableAddUp) {
  const Session session(data_directory());
  Calibration calibration = for_a100();
  calibration.host_scale = 1.7;
  calibration.kind_factors[static_cast<std::size_t>(CostKind::matmul)] = 1.2;
  PredictRequest request = request_with(calibration);
  for (const std::string_view input_on : {"device", "pageable"}) {
    request.input_on = input_on;
    for (unsigned seed = 0; seed < 10; ++seed) {
      const PreparedNetwork network(random_network(seed), 1 + 7 * seed, device("A100"));
      const Prediction prediction = session.predict(network.graph, request);
      EXPECT_NEAR(sum_s(session.kernels(network.graph, request)), prediction.latency_s, 1e-9 * prediction.latency_s);
      const Prediction before = session.predict(network.graph, {});
      EXPECT_EQ(prediction.memory.total_bytes, before.memory.total_bytes);
      EXPECT_EQ(prediction.memory_interval_bytes.upper, before.memory_interval_bytes.upper);
    }
  }
}

TEST(Calibration, TheUsersOwnTimingIsTheAnswer) {
  const Session session(data_directory());
  const PreparedNetwork network(random_network(3), 16, device("A100"));
  Calibration calibration = for_a100();
  calibration.records = {{.graph_hash = network.graph.hash(), .batch = 16, .latency_s = 3e-3, .spread = 0.1}};
  const PredictRequest request = request_with(calibration);
  const Prediction prediction = session.predict(network.graph, request);
  EXPECT_EQ(prediction.latency_provenance, "measured");
  EXPECT_TRUE(prediction.coverage.empty());
  EXPECT_DOUBLE_EQ(prediction.latency_s, 3e-3);
  EXPECT_NEAR(prediction.latency_interval_s.lower, 3e-3 * std::exp(-kNormal80 * 0.1), 1e-12);
  EXPECT_NEAR(prediction.latency_interval_s.upper, 3e-3 * std::exp(kNormal80 * 0.1), 1e-12);
  EXPECT_NEAR(sum_s(session.kernels(network.graph, request)), 3e-3, 1e-12);

  // Another batch, place of the input or network is predicted.
  EXPECT_NE(session.predict(with_batch(network.graph, 17), request).latency_provenance, "measured");
  PredictRequest pinned = request;
  pinned.input_on = "pinned";
  EXPECT_NE(session.predict(network.graph, pinned).latency_provenance, "measured");
  EXPECT_NE(session.predict(PreparedNetwork(random_network(4), 16, device("A100")).graph, request).latency_provenance,
            "measured");
  // Timings of unnamed conditions are no record of named ones.
  calibration.precision = "";
  EXPECT_NE(session.predict(network.graph, request_with(calibration)).latency_provenance, "measured");
}

TEST(Calibration, EnergyFollowsTheTime) {
  const Session session(data_directory());
  const PreparedNetwork network(random_network(3), 64, device("A100"));
  Calibration calibration = for_a100();
  calibration.scale = 3;
  const Prediction before = session.predict(network.graph, {});
  const Prediction after = session.predict(network.graph, request_with(calibration));
  EXPECT_GT(after.energy->energy_j, before.energy->energy_j);
  EXPECT_NEAR(after.energy->energy_j, after.energy->mean_power_w * after.latency_s, 1e-9);
}

TEST(Calibration, AnotherUseIsRefusedNamingBoth) {
  const Session session(data_directory());
  const PreparedNetwork network(random_network(1), 4, device("A100"));
  const auto message = [&](const Calibration& calibration, const auto& change) {
    PredictRequest request = request_with(calibration);
    change(request);
    return message_of<InvalidArgumentError>([&] { (void)session.predict(network.graph, request); });
  };
  EXPECT_EQ(message(for_a100(), [](PredictRequest& request) { request.device = "V100"; }),
            "calibration 'mine' was made for device 'A100-SXM4-40GB', asked is device 'V100-SXM2-16GB'; ask for what "
            "it was made for, or calibrate with timings of that");
  const auto expect_both = [](const std::string& found, std::string_view made_for, std::string_view asked) {
    EXPECT_NE(found.find(concat("made for ", made_for, ", asked is ", asked)), std::string::npos) << found;
  };
  expect_both(message(for_a100(), [](PredictRequest& request) { request.partition = "2g.10gb"; }), "the whole device",
              "partition 2g.10gb");
  expect_both(message(for_a100(), [](PredictRequest& request) { request.runtime = "compiled"; }), "runtime 'eager'",
              "runtime 'compiled'");
  expect_both(message(for_a100(), [](PredictRequest& request) { request.precision = "fp16"; }), "precision 'default'",
              "precision 'fp16'");
  expect_both(message(for_a100(), [](PredictRequest& request) { request.predictor = "roofline"; }),
              concat("predictor '", predictors().front().name, "'"), "predictor 'roofline'");
  Calibration any = for_a100();
  any.runtime = any.precision = "";
  PredictRequest request = request_with(any);
  request.runtime = "compiled";
  request.precision = "fp16";
  EXPECT_EQ(session.predict(network.graph, request).calibration, "mine");
  // The predictor that it was made for answers when none is named.
  any.predictor = "roofline";
  EXPECT_EQ(session.predict(network.graph, request_with(any)).predictor, "roofline");
}

TEST(Calibration, NumbersThatNoneCanHaveAreRefused) {
  const auto message = [](const auto& change) {
    Calibration calibration = for_a100();
    change(calibration);
    return message_of<InvalidArgumentError>([&] { check_calibration(calibration); });
  };
  check_calibration(for_a100());
  EXPECT_EQ(message([](Calibration& calibration) { calibration.scale = 0; }),
            "calibration: scale must be a positive number, got 0");
  EXPECT_NE(message([](Calibration& calibration) { calibration.host_scale = std::nan(""); }).find("host_scale"),
            std::string::npos);
  EXPECT_NE(message([](Calibration& calibration) { calibration.kind_factors[1] = -1; }).find("factor of conv"),
            std::string::npos);
  EXPECT_NE(message([](Calibration& calibration) { calibration.log_sd = INFINITY; }).find("log_sd"), std::string::npos);
  EXPECT_NE(message([](Calibration& calibration) { calibration.records = {{.latency_s = 0}}; }).find("latency_s"),
            std::string::npos);
}

class CalibratedInterval : public ::testing::Test {
 protected:
  CalibratedInterval()
      : evidence_(evidence_of(
            read_checkpoint(write_checkpoint("calibrated", manifest_text("linear", R"("rows": {"conv": {"fp32": 5}, )"
                                                                                   R"("unary": {"fp32": 7}})")),
                            "linear"))) {}

  [[nodiscard]] double half_width(const PreparedNetwork& asked, const LatencyOutput& output,
                                  const Calibration& calibration) const {
    const Coverage covered = coverage(evidence_, asked.input(), &calibration);
    return latency_interval(evidence_, covered, asked.input(), output, &calibration).log_half_width;
  }

  Evidence evidence_;
};

TEST_F(CalibratedInterval, WhatIsLeftOverReplacesTheTermsOfWhatWasTimed) {
  const PreparedNetwork asked(convolution_network({}), 8, device("V100"), "", "kernel", "fp32");
  const LatencyOutput output{.latency_s = 4e-3, .host_wait_s = 2e-3, .kernel_s = {1e-3, 1e-3}, .host_s = 3e-3};
  Calibration calibration = for_a100();
  // Of the kernels alone: the host's term stays (0.35, half of the call).
  EXPECT_NEAR(half_width(asked, output, calibration), kNormal80 * std::hypot(0.05, 0.35 * std::sqrt(0.5)), 1e-12);
  calibration.host_scale = 2;
  EXPECT_NEAR(half_width(asked, output, calibration), kNormal80 * 0.05, 1e-12);
  // Of the host alone: those of the device (0.2 and 0.15) and the runtime (0.12) stay.
  calibration.scale.reset();
  EXPECT_NEAR(half_width(asked, output, calibration), std::hypot(0.2, kNormal80 * 0.15, kNormal80 * 0.12), 1e-12);
}

TEST_F(CalibratedInterval, KindsThatWereTimedAreMeasured) {
  // Two kernels of 1 ms: the ReLU was measured at fp32 alone, so it widens the interval at fp16.
  const PreparedNetwork asked(convolution_network({}), 8, device("A100"), "", "eager", "fp16");
  const LatencyOutput output{.latency_s = 2e-3, .host_wait_s = 0, .kernel_s = {1e-3, 1e-3}, .host_s = 0};
  Calibration calibration = for_a100();
  calibration.precision = "fp16";
  EXPECT_NEAR(half_width(asked, output, calibration), kNormal80 * std::hypot(0.05, 0.3), 1e-12);
  calibration.timed_kinds[static_cast<std::size_t>(CostKind::conv)] = true;
  EXPECT_NEAR(half_width(asked, output, calibration), kNormal80 * std::hypot(0.05, 0.15), 1e-12);
  EXPECT_EQ(coverage(evidence_, asked.input(), &calibration).notes,
            std::vector<std::string>{"efficiency by analogy, not measured: unary at fp16"});
  calibration.timed_kinds[static_cast<std::size_t>(CostKind::unary)] = true;
  EXPECT_NEAR(half_width(asked, output, calibration), kNormal80 * 0.05, 1e-12);
  EXPECT_TRUE(coverage(evidence_, asked.input(), &calibration).kinds_measured);
  // Of any precision: nobody knows at which.
  calibration.precision = "";
  EXPECT_NEAR(half_width(asked, output, calibration), kNormal80 * std::hypot(0.05, 0.3), 1e-12);
}

TEST_F(CalibratedInterval, CoverageCountsWhatWasTimed) {
  const PreparedNetwork asked(convolution_network({}), 128, device("V100"), "", "kernel", "fp32");
  Calibration calibration = for_a100();
  calibration.runtime = "kernel";
  EXPECT_EQ(coverage(evidence_, asked.input()).provenance, "extrapolated");
  const Coverage outside = coverage(evidence_, asked.input(), &calibration);
  EXPECT_EQ(outside.provenance, "extrapolated");
  EXPECT_EQ(outside.notes, std::vector<std::string>{"batch 128 is outside the measured 2 to 64"});
  calibration.records = {{.batch = 1, .latency_s = 1}, {.batch = 256, .latency_s = 1}};
  const Coverage inside = coverage(evidence_, asked.input(), &calibration);
  EXPECT_EQ(inside.provenance, "interpolated");
  EXPECT_TRUE(inside.notes.empty());
}

TEST(Calibration, SlicesCarryTheFactorsOfTheDevice) {
  const Session session(data_directory());
  const PreparedNetwork network(random_network(1), 64, device("A100"));
  const std::vector<PartitionRow> before = session.partitions(network.graph, {});
  const std::vector<PartitionRow> after = session.partitions(network.graph, request_with(for_a100()));
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < after.size(); ++i) {
    EXPECT_GT(after[i].latency_s, before[i].latency_s);
    EXPECT_LT(after[i].latency_s, 1.3 * before[i].latency_s * (1 + 1e-9));
    EXPECT_EQ(after[i].fits, before[i].fits);
  }
}

}  // namespace
}  // namespace latpred
