#pragma once

#include <memory>
#include <random>
#include <string>
#include <string_view>

#include "latpred/features.h"
#include "latpred/kernel.h"
#include "latpred/partition.h"
#include "latpred/predictor.h"
#include "latpred/program_builder.h"
#include "latpred/runtime.h"
#include "latpred/shapes.h"

namespace latpred::testing {

// A network taken down the line as far as a predictor needs it.
struct PreparedNetwork {
  PreparedNetwork(const Program& program, std::int64_t batch, const Device& on, std::string_view partition_name = "",
                  std::string_view runtime_name = "eager", std::string_view precision = "default")
      : graph(resolve(std::make_shared<Program>(program), {.batch = batch})),
        kernels(fuse(graph, runtime_name, precision)),
        device(on),
        part(partition(on, partition_name)),
        features(featurize(kernels, on, part, false)) {}

  [[nodiscard]] LatencyInput input() const {
    return {graph, kernels, features, device, part, runtime(kernels.runtime)};
  }

  Graph graph;
  Kernels kernels;
  Device device;
  Partition part;
  Features features;
};

struct ConvolutionSizes {
  std::int64_t channels = 32;
  std::int64_t size = 28;
  std::int64_t window = 3;
  std::int64_t stride = 1;
  std::int64_t groups = 1;
  std::int64_t dilation = 1;
};

// One convolution with its ReLU.
inline Program convolution_network(const ConvolutionSizes& sizes) {
  ProgramBuilder net;
  const auto x = net.input("x", {sizes.channels, sizes.size, sizes.size});
  const auto weight = net.parameter({sizes.channels, sizes.channels / sizes.groups, sizes.window, sizes.window});
  const std::int64_t pad = sizes.window / 2;
  const auto y = net.apply(OperatorId::conv, {x, weight},
                           {{"strides", Shape{sizes.stride, sizes.stride}},
                            {"pads", Shape{pad, pad, pad, pad}},
                            {"dilations", Shape{sizes.dilation, sizes.dilation}},
                            {"kernel_shape", Shape{sizes.window, sizes.window}},
                            {"group", sizes.groups}});
  net.output(net.apply(OperatorId::relu, {y}));
  return net.build();
}

inline Graph small_graph() { return PreparedNetwork(convolution_network({}), 1, device("A100")).graph; }

// A few convolutions of random kinds with norms, activations, pools and skips, then a linear layer.
inline Program random_network(unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](std::initializer_list<std::int64_t> choices) {
    return choices.begin()[std::uniform_int_distribution<std::size_t>(0, choices.size() - 1)(random)];
  };
  ProgramBuilder net;
  std::int64_t channels = pick({3, 16, 40});
  std::int64_t size = pick({14, 32, 57});
  auto x = net.input("x", {channels, size, size});
  const std::int64_t depth = pick({1, 2, 5});
  for (std::int64_t layer = 0; layer < depth; ++layer) {
    const std::int64_t window = pick({1, 3, 5});
    const bool depthwise = pick({0, 0, 1}) == 1;
    const std::int64_t out = depthwise ? channels : pick({8, 64, 96, 200});
    const std::int64_t stride = size > 4 ? pick({1, 1, 2}) : 1;
    const std::int64_t pad = window / 2;
    auto y = net.apply(OperatorId::conv,
                       {x, net.parameter({out, depthwise ? 1 : channels, window, window}), net.parameter({out})},
                       {{"strides", Shape{stride, stride}},
                        {"pads", Shape{pad, pad, pad, pad}},
                        {"kernel_shape", Shape{window, window}},
                        {"group", depthwise ? channels : 1}});
    size = (size + 2 * pad - window) / stride + 1;
    if (pick({0, 1}) == 1) {
      const Shape of_channels{out};
      y = net.apply(OperatorId::batch_norm, {y, net.parameter(of_channels), net.parameter(of_channels),
                                             net.parameter(of_channels), net.parameter(of_channels)});
    }
    y = net.apply(pick({0, 1}) == 1 ? OperatorId::relu : OperatorId::sigmoid, {y});
    if (stride == 1 && out == channels) y = net.apply(OperatorId::add, {y, x});
    x = y;
    channels = out;
  }
  x = net.apply(OperatorId::flatten, {net.apply(OperatorId::global_average_pool, {x})});
  const std::int64_t classes = pick({10, 1000});
  x = net.apply(OperatorId::gemm, {x, net.parameter({classes, channels})}, {{"transB", std::int64_t{1}}});
  net.output(net.apply(OperatorId::softmax, {x}, {{"axis", std::int64_t{-1}}}));
  return net.build();
}

inline std::string shipped_checkpoint(const PredictorRow& row) {
  return std::string(LATPRED_GOLDEN_DIR) + "/../../python/latpred/data/predictors/" + std::string(row.checkpoint);
}

}  // namespace latpred::testing
