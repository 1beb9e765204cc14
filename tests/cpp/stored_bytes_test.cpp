#include "kernels/stored_bytes.h"

#include <gtest/gtest.h>

#include "graph_maker.h"
#include "latpred/kernel.h"
#include "latpred/runtime.h"

namespace latpred::testing {
namespace {

constexpr std::int64_t kBatch = 8;
const Shape kTokens{kBatch, 16, 64};
constexpr double kElements = kBatch * 16.0 * 64;

// A layer in half precision, and a norm that casts what it makes.
struct Normed {
  Graph graph;
  std::vector<CostKind> kinds;
  ViewInfo views;
  Storage storage;

  Normed() {
    GraphMaker make;
    const TensorId x = make.node(OperatorId::linear, {make.input(kTokens), make.weight({64, 64})}, kTokens);
    const TensorId norm = make.node(OperatorId::layer_norm, {x, make.weight({64}), make.weight({64})}, kTokens);
    graph = make.build({norm});
    for (const Node& node : graph.nodes) kinds.push_back(cost_kind(graph, node));
    views = find_views(graph);
    const Runtime& row = runtime("compiled");
    storage = assign_storage(graph, kinds, row, precision_of(row, "amp"));
  }
  [[nodiscard]] StoredBytes bytes(bool casts_inside) const { return {graph, kinds, views, storage, casts_inside}; }
};

TEST(StoredBytes, AGeneratedKernelLoadsWhatIsStored) {
  const Normed net;
  EXPECT_DOUBLE_EQ(net.bytes(true).moved(1).in, 2 * kElements);
  EXPECT_DOUBLE_EQ(net.bytes(false).moved(1).in, 4 * kElements);  // of the copy that a cast has made
  EXPECT_DOUBLE_EQ(net.bytes(true).moved(1).out, 4 * kElements);
  EXPECT_DOUBLE_EQ(net.bytes(true).moved(1).weights, 4 * 2 * 64);
}

TEST(StoredBytes, ALibraryLoadsTheCopy) {
  const Normed net;
  const TensorId image = net.graph.nodes[0].inputs[0];
  EXPECT_DOUBLE_EQ(net.bytes(true).stored(image), 4 * kElements);
  EXPECT_DOUBLE_EQ(net.bytes(true).cast(image), 2 * kElements);
  EXPECT_DOUBLE_EQ(net.bytes(true).read(0, image), 2 * kElements);
  EXPECT_DOUBLE_EQ(net.bytes(true).moved(0).weights, 2 * 64 * 64);
}

TEST(StoredBytes, WhatIsReadTwiceOrRepeatedIsLoadedOnce) {
  GraphMaker make;
  const TensorId x = make.input(kTokens);
  const TensorId gate = make.input({kBatch, 1, 64});
  const TensorId expanded = make.node(OperatorId::expand, {gate}, kTokens);
  const TensorId square = make.node(OperatorId::mul, {x, x}, kTokens);
  const Graph graph = make.build({make.node(OperatorId::mul, {square, expanded}, kTokens)});
  for (const std::string_view runtime : {"eager", "compiled"}) {
    double bytes_in = 0;
    for (const Kernel& row : fuse(graph, runtime, "fp32").rows) bytes_in += row.bytes_in;
    const double between = runtime == "eager" ? 4 * kElements : 0;
    EXPECT_DOUBLE_EQ(bytes_in, 4 * kElements + between + 4.0 * kBatch * 64) << runtime;
  }
}

}  // namespace
}  // namespace latpred::testing
