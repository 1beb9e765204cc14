#include "latpred/memory.h"

#include <gtest/gtest.h>

#include "graph_maker.h"
#include "latpred/error.h"
#include "latpred/runtime.h"
#include "memory/runtime_memory.h"
#include "message_of.h"

namespace latpred {
namespace {

using testing::GraphMaker;
using testing::message_of;

constexpr double kKib = 1024;
constexpr double kMib = 1024 * kKib;

MemoryEstimate estimate(const Graph& graph, std::string_view device_name, std::string_view runtime = "eager",
                        std::string_view precision = "default", bool autograd = false) {
  return estimate_memory(graph, fuse(graph, runtime, precision), device(device_name), {.autograd = autograd});
}

// Two convolutions of 3 x 3 on an image, a pooling and a linear layer.
Graph small_network(std::int64_t batch) {
  GraphMaker make;
  TensorId x = make.input({batch, 3, 64, 64});
  std::int64_t channels = 3;
  for (const std::int64_t next : {32, 64}) {
    x = make.node(OperatorId::conv, {x, make.weight({next, channels, 3, 3}), make.weight({next})},
                  {batch, next, 64, 64}, {{"kernel_shape", Shape{3, 3}}, {"pads", Shape{1, 1, 1, 1}}});
    x = make.node(OperatorId::relu, {x}, {batch, next, 64, 64});
    channels = next;
  }
  x = make.node(OperatorId::global_average_pool, {x}, {batch, 64, 1, 1});
  x = make.node(OperatorId::flatten, {x}, {batch, 64});
  x = make.node(OperatorId::linear, {x, make.weight({1000, 64}), make.weight({1000})}, {batch, 1000});
  return make.build({x});
}

TEST(Memory, PartsAddUpToTheTotal) {
  for (const std::string_view runtime : {"eager", "compiled", "tensorrt", "onnxruntime"}) {
    for (const std::int64_t batch : {1, 7, 64}) {
      const MemoryEstimate m = estimate(small_network(batch), "A100", runtime);
      EXPECT_DOUBLE_EQ(m.total_bytes, m.weights_bytes + m.inputs_bytes + m.activations_peak_bytes + m.workspace_bytes +
                                          m.allocator_bytes + m.context_bytes);
      EXPECT_GE(m.allocator_bytes, 0) << runtime;
      EXPECT_GE(m.workspace_bytes, 0) << runtime;
      EXPECT_GT(m.context_bytes, 0);
    }
  }
}

TEST(Memory, CountsWeightsAndInputsAsStored) {
  const double parameters = 32 * 3 * 9 + 32 + 64 * 32 * 9 + 64 + 1000 * 64 + 1000;
  const MemoryEstimate single = estimate(small_network(2), "A100");
  EXPECT_EQ(single.weights_bytes, parameters * 4);
  EXPECT_EQ(single.inputs_bytes, 2 * 3 * 64 * 64 * 4);
  const MemoryEstimate half = estimate(small_network(2), "A100", "eager", "fp16");
  EXPECT_EQ(half.weights_bytes, single.weights_bytes / 2);
  EXPECT_EQ(half.inputs_bytes, single.inputs_bytes / 2);
  EXPECT_EQ(half.activations_peak_bytes, single.activations_peak_bytes / 2);
  EXPECT_EQ(estimate(small_network(2), "A100", "eager", "amp").weights_bytes, single.weights_bytes);
}

TEST(Memory, ThePeakIsWhereItMustBe) {
  const Graph graph = small_network(4);
  const MemoryEstimate m = estimate(graph, "A100");
  EXPECT_EQ(m.activations_peak_bytes, 2.0 * 4 * 64 * 64 * 64 * 4);  // second convolution's output and its relu
  EXPECT_EQ(graph.nodes[m.peak_node].op, OperatorId::relu);
  EXPECT_EQ(m.peak_node, 3);
}

TEST(Memory, ThePlainWorkspaceOfProductsIsPyTorchsDefault) {
  GraphMaker make;
  const Graph graph = make.build({make.node(OperatorId::linear, {make.input({2, 8}), make.weight({8, 8})}, {2, 8})});
  EXPECT_EQ(estimate(graph, "A100").workspace_bytes, 8320 * kKib);
  EXPECT_EQ(estimate(graph, "H100").workspace_bytes, 32 * kMib);
  EXPECT_EQ(estimate(graph, "A100").allocator_bytes, 22 * kMib - 8320 * kKib - (64 + 16 + 16) * 4);
}

TEST(Memory, AConvolutionOverTheWholeImageTakesNoWorkspaceOfProducts) {
  GraphMaker make;
  const TensorId x = make.input({2, 16, 7, 7});
  const Graph graph = make.build({make.node(OperatorId::conv, {x, make.weight({8, 16, 7, 7})}, {2, 8, 1, 1})});
  EXPECT_EQ(estimate(graph, "A100", "eager", "fp32").workspace_bytes, 0);
  EXPECT_EQ(estimate(graph, "A100", "eager", "fp16").workspace_bytes, 2.0 * (2 * 16 * 49 + 8 * 16 * 49));
}

TEST(Memory, TensorCoreConvolutionsCopyInputAndWeightToTheirLayout) {
  GraphMaker make;
  const TensorId x = make.input({2, 16, 32, 32});
  const Graph one = make.build({make.node(OperatorId::conv, {x, make.weight({16, 16, 3, 3})}, {2, 16, 32, 32},
                                          {{"kernel_shape", Shape{3, 3}}, {"pads", Shape{1, 1, 1, 1}}})});
  EXPECT_EQ(estimate(one, "A100").workspace_bytes, 4.0 * (2 * 16 * 32 * 32 + 16 * 16 * 9));
  EXPECT_EQ(estimate(one, "A100", "eager", "fp32").workspace_bytes, 0);
  EXPECT_EQ(estimate(one, "V100").workspace_bytes, 0);  // no TF32 there
  EXPECT_EQ(estimate(one, "A100", "eager", "fp16").workspace_bytes, 2.0 * (2 * 16 * 32 * 32 + 16 * 16 * 9));
}

TEST(Memory, AutogradNeedsMoreAndGrowsWithTheBatch) {
  for (const std::int64_t batch : {1, 4, 16}) {
    const MemoryEstimate inference = estimate(small_network(batch), "A100");
    const MemoryEstimate training = estimate(small_network(batch), "A100", "eager", "default", true);
    EXPECT_GT(training.activations_peak_bytes, inference.activations_peak_bytes);
    EXPECT_EQ(training.weights_bytes, inference.weights_bytes);
  }
  const double one = estimate(small_network(1), "A100", "eager", "default", true).activations_peak_bytes;
  EXPECT_EQ(estimate(small_network(16), "A100", "eager", "default", true).activations_peak_bytes, 16 * one);
}

// A chain whose tensors grow by 2 MiB: each needs a segment that no freed one is large enough for.
Graph growing_network() {
  GraphMaker make;
  TensorId x = make.input({1, 20 << 18});
  for (std::int64_t mib = 22; mib <= 60; mib += 2) {
    x = make.node(OperatorId::concat, {x, make.input({1, 2 << 18})}, {1, mib << 18}, {{"axis", std::int64_t{1}}});
  }
  return make.build({x});
}

TEST(Memory, HandsCachedSegmentsBackWhereTheDeviceIsTooSmallForThem) {
  const Graph graph = growing_network();
  const Kernels kernels = fuse(graph, "eager", "fp32");
  const Device& row = device("A100");
  const MemoryEstimate free = estimate_memory(graph, kernels, row);
  const double live = free.total_bytes - free.allocator_bytes;
  ASSERT_GT(free.allocator_bytes, 1.5 * free.activations_peak_bytes);  // the rule is of use here
  const double capacity = live / 0.8;
  const MemoryEstimate squeezed = estimate_memory(graph, kernels, row, {.capacity_bytes = capacity});
  EXPECT_LE(squeezed.total_bytes, capacity);
  EXPECT_GE(squeezed.total_bytes, live);
  // Less than what lives at one time is not enough, and is not said to be.
  EXPECT_EQ(estimate_memory(graph, kernels, row, {.capacity_bytes = 0.9 * live}).total_bytes, free.total_bytes);
}

TEST(Memory, ACpuReservesNothingAhead) {
  const MemoryEstimate m = estimate(small_network(4), "Xeon Gold 6240");
  EXPECT_EQ(m.allocator_bytes, 0);
  EXPECT_GT(m.workspace_bytes, 0);  // oneDNN's blocked copies
}

TEST(Memory, AProcessOnACpuHoldsWhatItsRuntimeAddsToWeightsAndActivations) {
  for (const std::string_view runtime : {"eager", "openvino"}) {
    const MemoryEstimate m = estimate(small_network(4), "Xeon Gold 6240", runtime);
    EXPECT_GT(m.context_bytes, 10e6) << runtime;
    EXPECT_GT(m.workspace_bytes, 0.1 * m.weights_bytes) << runtime;
    EXPECT_NEAR(m.process_upper_bytes / m.total_bytes, m.total_bytes / m.process_lower_bytes, 1e-9) << runtime;
  }
  const MemoryEstimate unknown = estimate(small_network(4), "Xeon Gold 6240", "onnxruntime");
  EXPECT_EQ(unknown.context_bytes, 0);
  EXPECT_LE(unknown.process_lower_bytes, unknown.total_bytes);
  EXPECT_GE(unknown.process_upper_bytes, estimate(small_network(4), "Xeon Gold 6240", "openvino").total_bytes);
  EXPECT_EQ(estimate(small_network(4), "A100").process_upper_bytes, 0);
}

TEST(Memory, AFusingRuntimeStoresNoMoreThanEager) {
  for (const std::string_view runtime : {"compiled", "tensorrt", "onnxruntime"}) {
    EXPECT_LE(estimate(small_network(8), "A100", runtime).activations_peak_bytes,
              estimate(small_network(8), "A100").activations_peak_bytes)
        << runtime;
  }
}

TEST(Memory, AnEmptyNetworkNeedsTheContextAlone) {
  GraphMaker make;
  const TensorId x = make.input({1, 4});
  const MemoryEstimate m = estimate(make.build({x}), "A100");
  EXPECT_EQ(m.activations_peak_bytes, 0);
  EXPECT_EQ(m.peak_node, -1);
  EXPECT_EQ(m.total_bytes, m.context_bytes + 2 * kMib);  // one small segment for the input
}

TEST(Memory, EveryRuntimeHasARow) {
  for (const Runtime& row : runtimes()) EXPECT_EQ(runtime_memory(row.name).runtime, row.name);
  EXPECT_NE(message_of<InvalidArgumentError>([] { (void)runtime_memory("eage"); }).find("did you mean 'eager'"),
            std::string::npos);
}

}  // namespace
}  // namespace latpred
