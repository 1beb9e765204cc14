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

TEST(CostKind, windows_over_the_whole_image_are_fully_connected) {
  using Settings = GraphMaker::Settings;
  EXPECT_EQ(kind_of(conv, {2, 8, 7, 7}, {4, 8, 7, 7}, {2, 4, 1, 1}), CostKind::matmul);
  EXPECT_EQ(kind_of(conv, {2, 8, 1, 1}, {4, 8, 1, 1}, {2, 4, 1, 1}), CostKind::matmul);
  const Settings last{{"channels_last", std::int64_t{1}}, {"filter", std::string("HWIO")}};
  EXPECT_EQ(kind_of(conv, {2, 7, 5, 8}, {7, 5, 8, 4}, {2, 1, 1, 4}, last), CostKind::matmul);
  EXPECT_EQ(kind_of(conv, {2, 8, 7, 7}, {4, 8, 7, 6}, {2, 4, 1, 2}), CostKind::conv);
  EXPECT_EQ(
      kind_of(conv, {2, 8, 2, 2}, {4, 8, 2, 2}, {2, 4, 1, 1}, {{"pads", Shape{1, 1, 1, 1}}, {"strides", Shape{4, 4}}}),
      CostKind::conv);
  EXPECT_EQ(kind_of(conv, {2, 8, 1, 1}, {8, 4, 1, 1}, {2, 8, 1, 1}, {{"group", std::int64_t{2}}}),
            CostKind::conv_grouped);
  EXPECT_EQ(kind_of(conv_transpose, {2, 8, 1, 1}, {8, 4, 1, 1}, {2, 4, 1, 1}), CostKind::conv_1x1);
}

TEST(CostKind, fully_connected_layers_are_one_product_however_they_are_written) {
  GraphMaker maker;
  const auto flat = maker.node(linear, {maker.input({16, 392}), maker.weight({10, 392}), maker.weight({10})}, {16, 10});
  const auto image = maker.node(conv, {maker.input({16, 8, 7, 7}), maker.weight({10, 8, 7, 7}), maker.weight({10})},
                                {16, 10, 1, 1}, {{"kernel_shape", Shape{7, 7}}});
  const Graph graph = maker.build({flat, image});
  const Gemm a = gemm_of(graph, graph.nodes[0]);
  const Gemm b = gemm_of(graph, graph.nodes[1]);
  EXPECT_EQ((std::vector{a.batch, a.m, a.n, a.k}), (std::vector{b.batch, b.m, b.n, b.k}));
  EXPECT_EQ(graph.nodes[0].cost.flops, graph.nodes[1].cost.flops);
  EXPECT_EQ(graph.nodes[0].cost.weight_bytes, graph.nodes[1].cost.weight_bytes);
  EXPECT_EQ(cost_kind(graph, graph.nodes[0]), cost_kind(graph, graph.nodes[1]));
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
