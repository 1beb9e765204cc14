#include <gtest/gtest.h>

#include "graph_maker.h"

namespace latpred::testing {
namespace {

using enum OperatorId;

CostKind kind_of(OperatorId op, const Shape& x, const Shape& weight, const Shape& y,
                 const GraphMaker::Settings& settings = {}) {
  GraphMaker maker;
  const Graph graph = maker.build({maker.node(op, {maker.input(x), maker.weight(weight)}, y, settings)});
  return cost_kind(graph, graph.nodes[0]);
}

TEST(CostKind, convolutions_by_window_and_groups) {
  const auto groups = [](std::int64_t count) { return GraphMaker::Settings{{"group", count}}; };
  EXPECT_EQ(kind_of(conv, {1, 8, 9, 9}, {4, 8, 3, 3}, {1, 4, 7, 7}), CostKind::conv);
  EXPECT_EQ(kind_of(conv, {1, 8, 9, 9}, {4, 8, 1, 1}, {1, 4, 9, 9}), CostKind::conv_1x1);
  EXPECT_EQ(kind_of(conv, {1, 8, 9, 9}, {4, 4, 3, 3}, {1, 4, 7, 7}, groups(2)), CostKind::conv_grouped);
  EXPECT_EQ(kind_of(conv, {1, 8, 9, 9}, {8, 1, 3, 3}, {1, 8, 7, 7}, groups(8)), CostKind::conv_depthwise);
  EXPECT_EQ(kind_of(conv, {1, 8, 9, 9}, {16, 1, 3, 3}, {1, 16, 7, 7}, groups(8)), CostKind::conv_depthwise);
  EXPECT_EQ(kind_of(conv, {1, 1, 9, 9}, {8, 1, 3, 3}, {1, 8, 7, 7}), CostKind::conv);  // a single group
  EXPECT_EQ(kind_of(conv_transpose, {1, 8, 9, 9}, {8, 1, 2, 2}, {1, 8, 10, 10}, groups(8)), CostKind::conv_depthwise);
  EXPECT_EQ(kind_of(causal_conv_with_state, {1, 8, 9}, {8, 1, 2}, {1, 8, 9}), CostKind::conv_depthwise);
}

TEST(CostKind, products_by_their_number) {
  EXPECT_EQ(kind_of(matmul, {2, 10, 64}, {64, 32}, {2, 10, 32}), CostKind::matmul);
  EXPECT_EQ(kind_of(matmul, {2, 10, 64}, {2, 64, 32}, {2, 10, 32}), CostKind::batch_matmul);
  EXPECT_EQ(kind_of(gemm, {10, 64}, {64, 32}, {10, 32}), CostKind::matmul);
  const GraphMaker::Settings heads{{"equation", std::string("bij,bjk->bik")}};
  EXPECT_EQ(kind_of(einsum, {2, 10, 64}, {2, 64, 32}, {2, 10, 32}, heads), CostKind::batch_matmul);
  const GraphMaker::Settings plain{{"equation", std::string("bij,jk->bik")}};
  EXPECT_EQ(kind_of(einsum, {2, 10, 64}, {64, 32}, {2, 10, 32}, plain), CostKind::matmul);
}

TEST(CostKind, others_are_the_row_s) {
  EXPECT_EQ(kind_of(add, {2}, {2}, {2}), CostKind::binary);
  EXPECT_EQ(kind_of(layer_norm, {2, 4}, {4}, {2, 4}), CostKind::layer_norm);
}

}  // namespace
}  // namespace latpred::testing
