#include "normalized.h"

namespace latpred::testing {
namespace {

using Id = OperatorId;

const Shape kImage{2, 3, 8, 8};
const Shape kResult{2, 5, 8, 8};
const GraphMaker::Settings kSame{{"pads", Shape{1, 1, 1, 1}}};

TensorId convolution(GraphMaker& net) {
  return net.node(Id::conv, {net.input(kImage), net.weight({5, 3, 3, 3})}, kResult, kSame);
}

TEST(NormalizeChannels, BiasBehindAConvolution) {
  for (const Shape& bias : {Shape{1, 5, 1, 1}, Shape{5, 1, 1}}) {
    GraphMaker net;
    const auto y = net.node(Id::add, {convolution(net), net.weight(bias)}, kResult);
    const Graph graph = normalized(net.build({y}));
    ASSERT_EQ(operators_of(graph), (Names{"conv"}));
    EXPECT_EQ(graph.tensors[graph.nodes[0].inputs[2]].shape, (Shape{5}));
    EXPECT_EQ(graph.num_parameters(), 5 * 27 + 5);
  }
}

TEST(NormalizeChannels, BiasInTheOrderOfTheImage) {
  GraphMaker net;
  const auto x = net.input({2, 8, 8, 3});
  const auto y = net.node(Id::conv, {x, net.weight({3, 3, 3, 5})}, {2, 8, 8, 5},
                          {{"pads", Shape{1, 1, 1, 1}}, {"channels_last", std::int64_t{1}}, {"filter", "HWIO"}});
  EXPECT_EQ(left_of(net, {net.node(Id::bias_add, {y, net.weight({5})}, {2, 8, 8, 5})}), (Names{"conv"}));
}

TEST(NormalizeChannels, KeepsWhatIsNoBias) {
  {
    GraphMaker net;  // one number for each column
    EXPECT_EQ(left_of(net, {net.node(Id::add, {convolution(net), net.weight({8})}, kResult)}), (Names{"conv", "add"}));
  }
  {
    GraphMaker net;  // of the network, not of the file
    EXPECT_EQ(left_of(net, {net.node(Id::add, {convolution(net), net.input({1, 5, 1, 1})}, kResult)}),
              (Names{"conv", "add"}));
  }
  {
    GraphMaker net;  // read again
    const auto y = convolution(net);
    const auto sum = net.node(Id::add, {y, net.weight({5, 1, 1})}, kResult);
    EXPECT_EQ(left_of(net, {net.node(Id::mul, {y, sum}, kResult)}), (Names{"conv", "add", "mul"}));
  }
  {
    GraphMaker net;  // there is one already
    const auto y = net.node(Id::conv, {net.input(kImage), net.weight({5, 3, 3, 3}), net.weight({5})}, kResult, kSame);
    EXPECT_EQ(left_of(net, {net.node(Id::add, {y, net.weight({5, 1, 1})}, kResult)}), (Names{"conv", "add"}));
  }
  {
    GraphMaker net;  // shared, in another order than a bias has
    const auto bias = net.weight({5, 1, 1});
    const auto y = net.node(Id::add, {convolution(net), bias}, kResult);
    EXPECT_EQ(left_of(net, {net.node(Id::sub, {y, bias}, kResult)}), (Names{"conv", "add", "sub"}));
  }
}

TEST(NormalizeChannels, BiasBehindAProduct) {
  for (const Shape& lead : {Shape{4}, Shape{4, 6}}) {
    GraphMaker net;
    Shape from = lead;
    Shape to = lead;
    from.push_back(16);
    to.push_back(10);
    const auto y = net.node(Id::matmul, {net.input(from), net.weight({16, 10})}, to);
    const Graph graph = normalized(net.build({net.node(Id::add, {net.weight({10}), y}, to)}));
    ASSERT_EQ(operators_of(graph), (Names{"linear"}));
    EXPECT_EQ(graph.tensors[graph.nodes[0].inputs[1]].shape, (Shape{10, 16}));
    EXPECT_EQ(graph.num_parameters(), 170);
  }
}

TEST(NormalizeChannels, KeepsProductsWithoutALinearLayer) {
  {
    GraphMaker net;  // tied: the weight is read in its own order elsewhere
    const auto weight = net.weight({10, 10});
    const auto y = net.node(Id::matmul, {net.input({4, 10}), weight}, {4, 10});
    const auto z = net.node(Id::add, {y, net.weight({10})}, {4, 10});
    EXPECT_EQ(left_of(net, {net.node(Id::matmul, {z, weight}, {4, 10})}), (Names{"matmul", "add", "matmul"}));
  }
  {
    GraphMaker net;  // scores and their mask
    const auto y = net.node(Id::matmul, {net.input({4, 16}), net.input({16, 10})}, {4, 10});
    EXPECT_EQ(left_of(net, {net.node(Id::add, {y, net.weight({10})}, {4, 10})}), (Names{"matmul", "add"}));
  }
  {
    GraphMaker net;  // one number for each row
    const auto y = net.node(Id::matmul, {net.input({10, 16}), net.weight({16, 10})}, {10, 10});
    EXPECT_EQ(left_of(net, {net.node(Id::add, {y, net.weight({10, 1})}, {10, 10})}), (Names{"matmul", "add"}));
  }
}

}  // namespace
}  // namespace latpred::testing
