#include <gtest/gtest.h>

#include "graph_maker.h"
#include "latpred/kernel.h"

namespace latpred::testing {
namespace {

constexpr std::int64_t kBatch = 8;
const Shape kImage{kBatch, 32, 8, 8};
constexpr double kElements = kBatch * 32.0 * 8 * 8;

// A convolution, its norm and an activation, as convolutional networks repeat them.
TensorId convolve(GraphMaker& make, OperatorId activation) {
  const TensorId y = make.node(OperatorId::conv, {make.input(kImage), make.weight({32, 32, 1, 1})}, kImage,
                               {{"kernel_shape", Shape{1, 1}}, {"pads", Shape{0, 0, 0, 0}}, {"strides", Shape{1, 1}}});
  const TensorId norm = make.node(
      OperatorId::batch_norm, {y, make.weight({32}), make.weight({32}), make.weight({32}), make.weight({32})}, kImage);
  return make.node(activation, {norm}, kImage);
}

const Kernel& named(const Kernels& kernels, std::string_view part) {
  for (const Kernel& row : kernels.rows) {
    if (row.name.find(part) != std::string::npos) return row;
  }
  throw std::runtime_error("no such kernel");
}

// Squeeze and excitation: a layer of the mean of an activation scales it.
Kernels squeezed(OperatorId activation) {
  GraphMaker make;
  const TensorId x = convolve(make, activation);
  const TensorId mean = make.node(OperatorId::reduce_mean, {x}, {kBatch, 32, 1, 1}, {{"axes", Shape{2, 3}}});
  const TensorId gate = make.node(OperatorId::conv, {mean, make.weight({32, 32, 1, 1})}, {kBatch, 32, 1, 1},
                                  {{"kernel_shape", Shape{1, 1}}, {"strides", Shape{1, 1}}});
  const TensorId scaled = make.node(OperatorId::mul, {x, gate}, kImage);
  return fuse(make.build({make.node(OperatorId::relu, {scaled}, kImage)}), "compiled", "amp");
}

TEST(InlinedNodes, AnActivationThatReadsTwiceIsComputedAgainFromASingleNorm) {
  const Kernels kernels = squeezed(OperatorId::silu);
  ASSERT_EQ(kernels.rows.size(), 7U);  // the image's cast, two convolutions with theirs, norm and mean, scaling
  EXPECT_DOUBLE_EQ(named(kernels, "reduce_mean").bytes_in, 2 * kElements);
  EXPECT_DOUBLE_EQ(named(kernels, "reduce_mean").bytes_out, 4 * kElements + 2.0 * kBatch * 32);  // float32, and means
  EXPECT_DOUBLE_EQ(named(kernels, "mul").bytes_in, 4 * kElements + 2.0 * kBatch * 32);
}

// A cross-stage partial block: the activation is added to and concatenated, in one kernel that is not over its
// elements.
TEST(InlinedNodes, WhatAConcatenationReadsBehindAnAdditionIsComputedThere) {
  const auto concatenated = [](OperatorId activation) {
    GraphMaker make;
    const TensorId x = make.node(OperatorId::add, {convolve(make, activation), make.input(kImage)}, kImage);
    const TensorId both =
        make.node(OperatorId::concat, {x, make.input(kImage)}, {kBatch, 64, 8, 8}, {{"axis", std::int64_t{1}}});
    return fuse(make.build({both}), "compiled", "amp");
  };
  const Kernels kernels = concatenated(OperatorId::silu);
  EXPECT_DOUBLE_EQ(named(kernels, "batch_norm").bytes_in, 2 * kElements);
  EXPECT_DOUBLE_EQ(named(kernels, "batch_norm").bytes_out, 4 * kElements);
  EXPECT_DOUBLE_EQ(named(kernels, "concat").bytes_in, 3 * 4 * kElements);
  EXPECT_EQ(named(concatenated(OperatorId::relu), "concat").name,
            named(concatenated(OperatorId::relu), "batch_norm").name);
}

TEST(InlinedNodes, OneThatReadsOnceIsWrittenInHalf) {
  const Kernels kernels = squeezed(OperatorId::relu);
  EXPECT_DOUBLE_EQ(named(kernels, "reduce_mean").bytes_out, 2 * kElements + 2.0 * kBatch * 32);
  EXPECT_DOUBLE_EQ(named(kernels, "mul").bytes_in, 2 * kElements + 2.0 * kBatch * 32);
}

TEST(InlinedNodes, InFrontOfALibraryItIsPartOfTheNormsKernel) {
  GraphMaker make;
  const TensorId x = convolve(make, OperatorId::silu);
  const TensorId y = make.node(OperatorId::conv, {x, make.weight({32, 32, 1, 1})}, kImage,
                               {{"kernel_shape", Shape{1, 1}}, {"strides", Shape{1, 1}}});
  const Kernels kernels = fuse(make.build({y}), "compiled", "amp");
  EXPECT_DOUBLE_EQ(named(kernels, "silu").bytes_in, 2 * kElements);
  EXPECT_DOUBLE_EQ(named(kernels, "silu").bytes_out, 2 * kElements);
}

TEST(InlinedNodes, PaddingByNothingIsNoKernel) {
  const auto padded = [](std::string_view runtime) {
    GraphMaker make;
    const TensorId x = make.node(OperatorId::pad, {make.node(OperatorId::relu, {make.input(kImage)}, kImage)}, kImage);
    return fuse(make.build({make.node(OperatorId::sigmoid, {x}, kImage)}), runtime, "fp32").rows.size();
  };
  EXPECT_EQ(padded("compiled"), 1U);
  EXPECT_EQ(padded("eager"), 3U);  // a clone
}

}  // namespace
}  // namespace latpred::testing
