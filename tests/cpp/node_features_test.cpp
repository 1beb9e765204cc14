#include "latpred/node_features.h"

#include <gtest/gtest.h>

#include <map>

#include "graph_maker.h"
#include "message_of.h"

namespace latpred {
namespace {

using testing::GraphMaker;

// Convolution, rectifier, residual sum, pooling, dense layer.
Graph small_network() {
  GraphMaker net;
  const TensorId x = net.input({2, 4, 8, 8});
  const TensorId conv = net.node(OperatorId::conv, {x, net.weight({4, 2, 3, 5}), net.weight({4})}, {2, 4, 4, 8},
                                 {{"strides", Shape{2, 1}}, {"pads", Shape{1, 2, 1, 2}}, {"group", std::int64_t{2}}});
  const TensorId relu = net.node(OperatorId::relu, {conv}, {2, 4, 4, 8});
  const TensorId sum = net.node(OperatorId::add, {relu, conv}, {2, 4, 4, 8});
  const TensorId pool = net.node(OperatorId::global_average_pool, {sum}, {2, 4, 1, 1});
  const TensorId flat = net.node(OperatorId::flatten, {pool}, {2, 4});
  Graph graph = net.build({net.node(OperatorId::matmul, {flat, net.weight({4, 3})}, {2, 3})});
  graph.batch = 2;
  return graph;
}

std::map<std::string, double> node_of(const NodeFeatures& features, std::size_t node) {
  std::map<std::string, double> result;
  const auto& columns = features.set->node_columns;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const double value = features.nodes[node * columns.size() + i];
    if (value != 0) result[columns[i].name] = value;
  }
  return result;
}

TEST(NodeFeatures, DippmsThirtyTwo) {
  const NodeFeatures features = node_features(small_network(), "dippm");
  EXPECT_EQ(features.set->node_columns.size(), 32U);
  EXPECT_EQ(features.nodes.size(), 6U * 32);
  using Row = std::map<std::string, double>;
  EXPECT_EQ(node_of(features, 0), (Row{{"is_conv2d", 1},
                                       {"stride_rows", 2},
                                       {"stride_columns", 1},
                                       {"padding_top", 1},
                                       {"padding_left", 2},
                                       {"padding_bottom", 1},
                                       {"padding_right", 2},
                                       {"dilation_rows", 1},
                                       {"dilation_columns", 1},
                                       {"groups", 2},
                                       {"channels", 4},
                                       {"window_rows", 3},
                                       {"window_columns", 5},
                                       {"output_size_0", 2},
                                       {"output_size_1", 4},
                                       {"output_size_2", 4},
                                       {"output_size_3", 8}}));
  EXPECT_EQ(node_of(features, 1),  // none of the sixteen
            (Row{{"output_size_0", 2}, {"output_size_1", 4}, {"output_size_2", 4}, {"output_size_3", 8}}));
  EXPECT_EQ(node_of(features, 3), (Row{{"is_adaptive_avg_pool2d", 1},
                                       {"output_size_0", 2},
                                       {"output_size_1", 4},
                                       {"output_size_2", 1},
                                       {"output_size_3", 1}}));
  EXPECT_EQ(node_of(features, 5), (Row{{"is_dense", 1}, {"output_size_0", 2}, {"output_size_1", 3}}));  // by a weight
  EXPECT_EQ(features.edges, (std::vector<std::int64_t>{0, 0, 1, 2, 3, 4, 1, 2, 2, 3, 4, 5}));
  // macs, batch, convolutions, dense layers, relus
  EXPECT_EQ(features.graph, (std::vector<double>{2.0 * 4 * 4 * 8 * 2 * 15 + 2 * 4 * 3, 2, 1, 1, 1}));
}

TEST(NodeFeatures, AttentionsProductsAreNoDenseLayers) {
  GraphMaker net;
  const TensorId a = net.input({2, 3, 4});
  const TensorId b = net.input({2, 4, 5});
  const TensorId y = net.node(OperatorId::matmul, {a, b}, {2, 3, 5});
  const NodeFeatures features = node_features(net.build({y}), "dippm");
  EXPECT_EQ(node_of(features, 0).count("is_batch_matmul"), 1U);
  EXPECT_EQ(features.graph, (std::vector<double>{2 * 3 * 4 * 5, 1, 0, 0, 0}));
}

TEST(NodeFeatures, PaddingThatTheFileLeavesToTheRuntime) {
  GraphMaker net;
  const TensorId x = net.input({1, 1, 8, 7});
  const TensorId y = net.node(OperatorId::conv, {x, net.weight({1, 1, 3, 3})}, {1, 1, 4, 4},
                              {{"strides", Shape{2, 2}}, {"auto_pad", std::string("SAME_UPPER")}});
  const auto row = node_of(node_features(net.build({y}), "dippm"), 0);
  EXPECT_EQ(row.count("padding_top"), 0U);
  EXPECT_EQ(row.at("padding_bottom"), 1);
  EXPECT_EQ(row.at("padding_left"), 1);
  EXPECT_EQ(row.at("padding_right"), 1);
}

TEST(NodeFeatures, LilousSizesBesideTheOperator) {
  const NodeFeatures features = node_features(small_network(), "lilou");
  EXPECT_EQ(features.operators[1], static_cast<std::int64_t>(OperatorId::relu));
  using Row = std::map<std::string, double>;
  EXPECT_EQ(node_of(features, 0), (Row{{"input_elements", 512},
                                       {"output_elements", 256},
                                       {"parameter_elements", 124},
                                       {"flops", 2.0 * 256 * 30 + 256}}));
  EXPECT_EQ(node_of(features, 2).at("input_elements"), 512);
  EXPECT_TRUE(features.graph.empty());
}

TEST(NodeFeatures, UnknownSetsAreNamed) {
  EXPECT_EQ(testing::message_of<InvalidArgumentError>([] { (void)node_features(Graph{}, "dipm"); }),
            "unknown feature set 'dipm'; did you mean 'dippm'? Valid: dippm, lilou");
}

}  // namespace
}  // namespace latpred
