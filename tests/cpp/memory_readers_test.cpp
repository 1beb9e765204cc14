#include "kernels/memory_readers.h"

#include <gtest/gtest.h>

#include "graph_maker.h"

namespace latpred::testing {
namespace {

const Shape kTokens{8, 16, 64};
const Shape kRows{128, 64};

MemoryReaders readers_of(const Graph& graph) {
  std::vector<CostKind> kinds;
  for (const Node& node : graph.nodes) kinds.push_back(cost_kind(graph, node));
  return {graph, kinds, find_views(graph)};
}

TEST(MemoryReaders, AViewReadsNothingItself) {
  GraphMaker make;
  const TensorId x = make.input(kTokens);
  const TensorId rows = make.node(OperatorId::reshape, {x}, kRows);
  const TensorId y = make.node(OperatorId::relu, {rows}, kRows);
  const MemoryReaders readers = readers_of(make.build({y, make.node(OperatorId::exp, {x}, kTokens)}));
  ASSERT_EQ(readers.of(x).size(), 2U);
  EXPECT_EQ(readers.of(x)[0].node, 1);
  EXPECT_EQ(readers.of(x)[0].input, rows);
  EXPECT_EQ(readers.of(x)[1].node, 2);
  EXPECT_EQ(readers.of(x)[1].input, x);
  EXPECT_TRUE(readers.of(rows).empty());
}

TEST(MemoryReaders, ANodeThatReadsTwiceIsOneReader) {
  GraphMaker make;
  const TensorId x = make.input(kTokens);
  const TensorId square = make.node(OperatorId::mul, {x, x}, kTokens);
  const TensorId y = make.node(OperatorId::exp, {square}, kTokens);
  const MemoryReaders readers = readers_of(make.build({make.node(OperatorId::add, {square, y}, kTokens)}));
  EXPECT_EQ(readers.of(x).size(), 2U);
  EXPECT_FALSE(readers.are_several(x));
  EXPECT_TRUE(readers.are_several(square));
}

TEST(MemoryReaders, ResultsAreReadByTheCaller) {
  GraphMaker make;
  const TensorId x = make.node(OperatorId::relu, {make.input(kTokens)}, kTokens);
  const TensorId rows = make.node(OperatorId::reshape, {x}, kRows);
  const MemoryReaders readers = readers_of(make.build({x, rows}));
  EXPECT_EQ(readers.num_results(x), 2);
  EXPECT_EQ(readers.num_results(rows), 0);
  EXPECT_FALSE(readers.are_generated(x));
}

TEST(MemoryReaders, LibrariesAreToldFromGeneratedKernels) {
  GraphMaker make;
  const TensorId x = make.input(kTokens);
  const TensorId y = make.node(OperatorId::relu, {x}, kTokens);
  const TensorId z = make.node(OperatorId::linear, {y, make.weight({64, 64})}, kTokens);
  const MemoryReaders readers = readers_of(make.build({make.node(OperatorId::add, {y, z}, kTokens)}));
  EXPECT_TRUE(readers.are_generated(x));
  EXPECT_FALSE(readers.are_generated(y));
  EXPECT_TRUE(readers.of(y)[0].is_library);
  EXPECT_FALSE(readers.of(y)[1].is_library);
}

}  // namespace
}  // namespace latpred::testing
