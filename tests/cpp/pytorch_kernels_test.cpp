#include "kernels/pytorch_kernels.h"

#include <gtest/gtest.h>

#include "graph_maker.h"
#include "matmul_kernel.h"

namespace latpred {
namespace {

using testing::GraphMaker;

TEST(PytorchKernels, DepthwiseConvolutionsThatPyTorchKeepsForItself) {
  Kernel kernel;
  kernel.kind = CostKind::conv_depthwise;
  kernel.arithmetic = Arithmetic::fp16;
  const auto is_native = [&](double window, double stride, double channels, double positions) {
    Kernel changed = kernel;
    changed.window = window;
    changed.stride = stride;
    changed.groups = channels;
    changed.positions = positions;
    return is_native_depthwise(changed);
  };
  EXPECT_FALSE(is_native(9, 1, 64, 14 * 14));
  EXPECT_FALSE(is_native(25, 1, 64, 7 * 7));
  EXPECT_TRUE(is_native(9, 1, 64, 6 * 6));
  EXPECT_TRUE(is_native(9, 1, 16, 14 * 14));
  EXPECT_TRUE(is_native(49, 1, 64, 14 * 14));
  EXPECT_TRUE(is_native(3, 1, 64, 14 * 14));  // 1 x 3
  EXPECT_TRUE(is_native(9, 4, 64, 14 * 14));
  EXPECT_TRUE(is_native(9, 4, 256, 7 * 7));
  EXPECT_FALSE(is_native(9, 4, 256, 14 * 14));
  EXPECT_FALSE(is_native(9, 4, 512, 7 * 7));
  EXPECT_TRUE(is_native(9, 2, 512, 14 * 14));  // stride 1 x 2
  kernel.arithmetic = Arithmetic::bf16;
  EXPECT_TRUE(is_native(9, 1, 64, 14 * 14));
  kernel.channels_last = true;
  EXPECT_FALSE(is_native(49, 1, 64, 14 * 14));
  kernel.channels_last = false;
  kernel.kind = CostKind::conv_grouped;
  EXPECT_FALSE(is_native(49, 1, 64, 14 * 14));
}

TEST(PytorchKernels, ProductsOfRowsThatAreNotAligned) {
  const auto of = [](double n, double k, Arithmetic arithmetic) {
    return is_unaligned(testing::matmul_kernel(64, n, k, arithmetic, 2));
  };
  EXPECT_TRUE(of(50257, 768, Arithmetic::fp16));
  EXPECT_TRUE(of(384, 196, Arithmetic::bf16));
  EXPECT_FALSE(of(50264, 768, Arithmetic::fp16));
  EXPECT_FALSE(of(50257, 768, Arithmetic::fp32));
  Kernel convolution = testing::matmul_kernel(64, 18, 162, Arithmetic::fp16, 2);
  convolution.kind = CostKind::conv;  // cuDNN's to pad
  EXPECT_FALSE(is_unaligned(convolution));
}

TEST(PytorchKernels, OnlyWherePyTorchIsAsked) {
  GraphMaker make;
  const TensorId x = make.input({2, 16, 8, 8});
  const TensorId y = make.node(OperatorId::conv, {x, make.weight({16, 1, 3, 3})}, {2, 16, 8, 8},
                               {{"kernel_shape", Shape{3, 3}}, {"group", std::int64_t{16}}});
  const Graph depthwise = make.build({y});
  GraphMaker make_head;
  const TensorId tokens = make_head.input({4, 64});
  const Graph head =
      make_head.build({make_head.node(OperatorId::matmul, {tokens, make_head.weight({64, 101})}, {4, 101})});
  const auto first = [](const Graph& graph, std::string_view runtime) {
    return fuse(graph, runtime, "fp16").rows.at(0);
  };
  GraphMaker make_pool;
  const TensorId image = make_pool.input({2, 16, 8, 8});
  const Graph pool = make_pool.build({make_pool.node(OperatorId::max_pool, {image}, {2, 16, 4, 4},
                                                     {{"kernel_shape", Shape{3, 3}}, {"strides", Shape{2, 2}}})});
  GraphMaker make_mean;
  const TensorId features = make_mean.input({2, 16, 8, 8});
  const Graph mean = make_mean.build({make_mean.node(OperatorId::global_average_pool, {features}, {2, 16, 1, 1})});
  EXPECT_EQ(first(pool, "eager").pooled, 2 * 16 * 4 * 4);
  EXPECT_EQ(first(mean, "eager").pooled, 0);  // reduces all of an image
  EXPECT_TRUE(first(depthwise, "eager").is_native_depthwise);
  EXPECT_FALSE(first(depthwise, "tensorrt").is_native_depthwise);
  EXPECT_TRUE(first(head, "eager").is_unaligned);
  for (const std::string_view runtime : {"compiled", "tensorrt", "onnxruntime"}) {
    EXPECT_FALSE(first(head, runtime).is_unaligned) << runtime;  // pads them, or was not looked at
    EXPECT_EQ(first(pool, runtime).pooled, 0) << runtime;        // has kernels of its own
  }
}

}  // namespace
}  // namespace latpred
