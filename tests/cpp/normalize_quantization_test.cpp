#include <gtest/gtest.h>

#include "normalized.h"

namespace latpred::testing {
namespace {

using Id = OperatorId;

const Shape kImage{1, 8, 6, 6};

struct Quantized {
  GraphMaker net;
  TensorId scale = net.number(0.1);

  TensorId q(TensorId x, const Shape& shape = kImage, DType dtype = DType::int8) {
    return net.node(Id::quantize_linear, {x, scale}, shape, {}, dtype);
  }
  TensorId dq(TensorId x, const Shape& shape = kImage) { return net.node(Id::dequantize_linear, {x, scale}, shape); }
  TensorId qdq(TensorId x) { return dq(q(x)); }
  TensorId conv(TensorId x, DType weight = DType::int8) {
    return net.node(Id::conv, {x, net.weight({8, 8, 1, 1}, weight), net.weight({8}, DType::int32)}, kImage);
  }
  TensorId op(Id id, const std::vector<TensorId>& inputs) { return net.node(id, inputs, kImage); }
};

const Node& node_of(const Graph& graph, Id op) {
  for (const Node& node : graph.nodes) {
    if (node.op == op) return node;
  }
  throw ShapeError("no such node");
}

DType type_of(const Graph& graph, TensorId id) { return graph.tensors[id].dtype; }

TEST(NormalizeQuantization, ConvolutionBetweenPairs) {
  Quantized net;
  const Graph before = net.net.build({net.qdq(net.conv(net.qdq(net.net.input(kImage))))});
  const Graph graph = normalized(before);
  ASSERT_EQ(operators_of(graph), (Names{"quantize_linear", "conv", "dequantize_linear"}));
  const Node& conv = graph.nodes[1];
  EXPECT_EQ(type_of(graph, conv.inputs[0]), DType::int8);
  EXPECT_EQ(type_of(graph, conv.outputs[0]), DType::int8);
  EXPECT_EQ(conv.cost.bytes_in, 8 * 36);
  EXPECT_EQ(conv.cost.bytes_out, 8 * 36);
}

TEST(NormalizeQuantization, ChainsOfConvolutionsStayIntegers) {
  Quantized net;
  auto x = net.qdq(net.net.input(kImage));
  const auto a = net.qdq(net.op(Id::relu, {net.conv(x)}));
  const auto b = net.qdq(net.conv(a));
  const auto sum = net.qdq(net.op(Id::relu, {net.op(Id::add, {a, b})}));
  const Graph graph = normalized(net.net.build({net.op(Id::exp, {sum})}));
  EXPECT_EQ(operators_of(graph),
            (Names{"quantize_linear", "conv", "relu", "conv", "add", "relu", "dequantize_linear", "exp"}));
  EXPECT_EQ(type_of(graph, node_of(graph, Id::add).inputs[1]), DType::int8);
}

TEST(NormalizeQuantization, PairsForEachReaderAreOne) {
  Quantized net;
  const auto x = net.op(Id::relu, {net.conv(net.qdq(net.net.input(kImage)))});
  const auto y = net.op(Id::add, {net.conv(net.qdq(x)), net.conv(net.qdq(x))});
  const Graph graph = normalized(net.net.build({y}));
  EXPECT_EQ(operators_of(graph), (Names{"quantize_linear", "conv", "relu", "conv", "conv", "add"}));
}

TEST(NormalizeQuantization, MatmulOfTwoActivations) {
  Quantized net;
  const Shape shape{4, 6, 6};
  const auto a = net.dq(net.q(net.net.input(shape), shape), shape);
  const auto b = net.dq(net.q(net.net.input(shape), shape, DType::uint8), shape);
  const Graph graph = normalized(net.net.build({net.net.node(Id::matmul, {a, b}, shape)}));
  EXPECT_EQ(operators_of(graph), (Names{"quantize_linear", "quantize_linear", "matmul"}));
  EXPECT_EQ(type_of(graph, graph.outputs[0]), DType::float32);
}

TEST(NormalizeQuantization, IntegersToFloatAndBack) {
  Quantized net;
  const auto x = net.net.input(kImage, DType::int8);
  EXPECT_EQ(left_of(net.net, {net.dq(net.q(net.dq(x)))}), (Names{"dequantize_linear"}));
  Quantized other;  // to another type somebody has to convert
  const auto y = other.net.input(kImage, DType::int8);
  EXPECT_EQ(left_of(other.net, {other.q(other.dq(y), kImage, DType::uint8)}).size(), 2U);
}

TEST(NormalizeQuantization, NearMisses) {
  {
    Quantized net;  // weights alone: the product is one of floating point
    EXPECT_EQ(left_of(net.net, {net.conv(net.op(Id::relu, {net.net.input(kImage)}))}), (Names{"relu", "conv"}));
  }
  {
    Quantized net;  // activations alone
    const auto y = net.conv(net.qdq(net.net.input(kImage)), DType::float32);
    EXPECT_EQ(left_of(net.net, {y}), (Names{"quantize_linear", "dequantize_linear", "conv"}));
  }
  {
    Quantized net;  // nobody computes this on integers
    const auto y = net.qdq(net.op(Id::exp, {net.qdq(net.net.input(kImage))}));
    EXPECT_EQ(left_of(net.net, {y}).size(), 5U);
  }
  {
    Quantized net;  // the result is read as floating point, too
    const auto y = net.conv(net.qdq(net.net.input(kImage)));
    const Graph graph = normalized(net.net.build({net.qdq(y), net.op(Id::exp, {y})}));
    EXPECT_EQ(operators_of(graph), (Names{"quantize_linear", "conv", "quantize_linear", "dequantize_linear", "exp"}));
    EXPECT_EQ(type_of(graph, graph.nodes[1].outputs[0]), DType::float32);
  }
}

}  // namespace
}  // namespace latpred::testing
