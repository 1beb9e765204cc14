#include "kernels/inductor_layout.h"

#include <gtest/gtest.h>

#include "graph_maker.h"
#include "latpred/kernel.h"

namespace latpred::testing {
namespace {

constexpr std::int64_t kBatch = 8;
constexpr std::int64_t kChannels = 128;

// Convolutions of 3 x 3, of which the last has `groups`.
Graph network(int dense, std::int64_t groups, int others = 0) {
  GraphMaker make;
  const Shape shape{kBatch, kChannels, 8, 8};
  const auto convolve = [&](TensorId x, std::int64_t of_groups) {
    return make.node(OperatorId::conv, {x, make.weight({kChannels, kChannels / of_groups, 3, 3})}, shape,
                     {{"kernel_shape", Shape{3, 3}}, {"pads", Shape{1, 1, 1, 1}}, {"group", of_groups}});
  };
  TensorId y = make.input(shape);
  for (int i = 0; i < dense; ++i) y = convolve(y, 1);
  for (int i = 0; i < others; ++i) y = make.node(OperatorId::relu, {y}, shape);
  return make.build({convolve(y, groups)});
}

TEST(InductorLayout, DenseAndDepthwiseConvolutionsAreMoved) {
  EXPECT_TRUE(runs_channels_last(network(1, 1)));
  EXPECT_TRUE(runs_channels_last(network(0, kChannels)));
}

TEST(InductorLayout, GroupedConvolutionsStayUnlessOthersOutweighThem) {
  EXPECT_FALSE(runs_channels_last(network(0, 4)));
  EXPECT_TRUE(runs_channels_last(network(1, 4)));
}

TEST(InductorLayout, NetworksOfFewConvolutionsStay) {
  EXPECT_TRUE(runs_channels_last(network(0, 1, 70)));
  EXPECT_FALSE(runs_channels_last(network(0, 1, 80)));
  GraphMaker make;
  EXPECT_FALSE(runs_channels_last(make.build({make.node(OperatorId::relu, {make.input({kBatch, 4})}, {kBatch, 4})})));
}

TEST(InductorLayout, ItIsOfTheCompiledRuntimeAlone) {
  const Graph graph = network(1, 1);
  EXPECT_TRUE(fuse(graph, "compiled", "fp32").rows[0].channels_last);
  EXPECT_FALSE(fuse(graph, "eager", "fp32").rows[0].channels_last);
  EXPECT_FALSE(fuse(graph, "tensorrt", "fp32").rows[0].channels_last);
}

}  // namespace
}  // namespace latpred::testing
