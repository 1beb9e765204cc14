#include "latpred/session.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "latpred/error.h"
#include "latpred/memory_fit.h"
#include "latpred/text.h"
#include "message_of.h"
#include "prepared_network.h"

namespace latpred {
namespace {

using testing::convolution_network;
using testing::message_of;
using testing::PreparedNetwork;
using testing::small_graph;

std::string data_directory() { return std::string(LATPRED_GOLDEN_DIR) + "/../../python/latpred/data"; }

PredictRequest request_on_host() {
  PredictRequest request;
  request.device = kHostDevice;
  request.host = std::make_shared<Device>(host_device("AMD EPYC", 2, 8e9, std::nullopt));
  request.predictor = "trained";
  return request;
}

TEST(Session, TakesALatencyThatWasWorkedOutElsewhere) {
  const Session session(data_directory());
  const Graph graph = small_graph();
  PredictRequest request = request_on_host();
  request.given = std::make_shared<GivenLatency>(GivenLatency{2e-3, {1e-3, 3e-3}, "fitted", {"a note"}});
  const Prediction answer = session.predict(graph, request);
  EXPECT_EQ(answer.device, "AMD EPYC");
  EXPECT_EQ(answer.predictor, "trained");
  EXPECT_EQ(answer.latency_s, 2e-3);
  EXPECT_EQ(answer.latency_interval_s.lower, 1e-3);
  EXPECT_EQ(answer.latency_interval_s.upper, 3e-3);
  EXPECT_EQ(answer.latency_provenance, "fitted");
  EXPECT_EQ(answer.coverage.size(), 1U);
  EXPECT_GT(answer.memory.total_bytes, 0);
  EXPECT_FALSE(answer.energy);
  EXPECT_FALSE(answer.mig_profile);
  EXPECT_TRUE(session.partitions(graph, request).empty());
  EXPECT_EQ(memory_fit(graph, request).usable_bytes, 8e9);

  const std::string message = message_of<InvalidArgumentError>([&] { (void)session.kernels(graph, request); });
  EXPECT_NE(message.find("'trained' answers for a whole call"), std::string::npos) << message;
  request.given = std::make_shared<GivenLatency>(GivenLatency{2e-3, {1e-3, 3e-3}, "extrapolated", {"too deep"}});
  request.strict = true;
  EXPECT_NE(message_of<InvalidArgumentError>([&] { (void)session.predict(graph, request); }).find("too deep"),
            std::string::npos);
}

TEST(Session, ALatencyThatWasWorkedOutElsewhereIsOfAWholeDevice) {
  const Session session(data_directory());
  const Graph graph = small_graph();
  PredictRequest request;
  request.predictor = "trained";
  request.given = std::make_shared<GivenLatency>(GivenLatency{2e-3, {1e-3, 3e-3}, "fitted", {}});
  const std::string table = message_of<InvalidArgumentError>([&] { (void)session.partitions(graph, request); });
  EXPECT_EQ(table, "predictor 'trained' answers for a whole call: it has no table of partitions");
  request.partition = "1g.5gb";
  const std::string part = message_of<InvalidArgumentError>([&] { (void)session.predict(graph, request); });
  EXPECT_NE(part.find("leave partition out, got '1g.5gb'"), std::string::npos) << part;
}

TEST(Session, AnInputOnTheHostTravelsWhoeverAnswers) {
  const Session session(data_directory());
  const Graph graph = small_graph();
  PredictRequest request;
  request.input_on = "pageable";
  const double copy_s = session.predict(graph, request).input_copy_s;
  EXPECT_GT(copy_s, 0);
  request.predictor = "trained";
  request.given = std::make_shared<GivenLatency>(GivenLatency{2e-3, {1e-3, 3e-3}, "fitted", {}});
  const Prediction answer = session.predict(graph, request);
  EXPECT_DOUBLE_EQ(answer.input_copy_s, copy_s);
  EXPECT_DOUBLE_EQ(answer.latency_s, 2e-3 + copy_s);
  EXPECT_DOUBLE_EQ(answer.latency_interval_s.lower, 1e-3 + copy_s);
  EXPECT_DOUBLE_EQ(answer.latency_interval_s.upper, 3e-3 + copy_s);
  request.input_on = "somewhere";
  EXPECT_NE(message_of<InvalidArgumentError>([&] { (void)session.predict(graph, request); }).find("'somewhere'"),
            std::string::npos);
}

TEST(Session, SaysWhatDoesNotFit) {
  const Session session(data_directory());
  const Graph graph = PreparedNetwork(convolution_network({.channels = 256, .size = 112}), 2048, device("T4")).graph;
  PredictRequest request;
  request.device = "T4";
  const auto notes = [&] { return join(session.predict(graph, request).coverage, "; "); };
  EXPECT_NE(notes().find("does not fit: needs "), std::string::npos) << notes();
  request.device = "B200";
  EXPECT_EQ(notes().find("does not fit"), std::string::npos) << notes();
}

TEST(Session, KernelsNameTheArithmeticThatTheDeviceHas) {
  const Session session(data_directory());
  PredictRequest request;
  const auto arithmetic = [&](const char* device_name) {
    request.device = device_name;
    return session.kernels(small_graph(), request).at(0).arithmetic;
  };
  EXPECT_EQ(arithmetic("A100"), "tf32");
  EXPECT_EQ(arithmetic("P100"), "fp32");
}

TEST(Session, PhysicsHasNothingToSayAboutAMachineOfUnknownPeaks) {
  const Session session(data_directory());
  PredictRequest request = request_on_host();
  request.predictor = "roofline";
  const std::string message = message_of<InvalidArgumentError>([&] { (void)session.predict(small_graph(), request); });
  EXPECT_NE(message.find("AMD EPYC, whose peaks and bandwidth no table has"), std::string::npos) << message;
}

TEST(Session, PhysicsAnswersForAMachineThatWasMeasured) {
  const Session session(data_directory());
  const Graph graph = small_graph();
  PredictRequest request = request_on_host();
  request.predictor = "roofline";
  const std::vector<HostRead> slow{{1024, 1e6, 1e6}};
  request.host = std::make_shared<Device>(with_speed(*request.host, 1e15, slow, "measured today"));
  request.host_reads = slow;
  const Prediction answer = session.predict(graph, request);
  EXPECT_EQ(answer.latency_provenance, "modelled");
  EXPECT_EQ(answer.coverage.back(), "measured today");
  double bytes = 0;
  for (const KernelRow& row : session.kernels(graph, request)) bytes += row.bytes;
  EXPECT_NEAR(answer.latency_s, bytes / 1e6, 1e-3 * answer.latency_s);

  // What fits where reads are ten times as fast takes a tenth of the time.
  request.host_reads = {{1e9, 10e6, 10e6}, {1e10, 1e6, 1e6}};
  EXPECT_NEAR(session.predict(graph, request).latency_s, answer.latency_s / 10, 1e-3 * answer.latency_s);

  request.strict = true;
  EXPECT_NE(message_of<InvalidArgumentError>([&] { (void)session.predict(graph, request); }).find("fitted on nothing"),
            std::string::npos);
}

TEST(Session, HostIsAskedForByItsNameAlone) {
  PredictRequest request = request_on_host();
  EXPECT_EQ(asked_device(request).name, "AMD EPYC");
  request.device = "A100";
  EXPECT_EQ(asked_device(request).name, "A100-SXM4-40GB");
}

}  // namespace
}  // namespace latpred
