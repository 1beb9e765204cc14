#include <gtest/gtest.h>

#include <algorithm>

#include "graph_maker.h"
#include "latpred/kernel.h"

namespace latpred::testing {
namespace {

constexpr std::int64_t kBatch = 8;
const Shape kTokens{kBatch, 16, 64};
constexpr double kElements = kBatch * 16.0 * 64;
const Shape kImage{kBatch, 32, 8, 8};
constexpr double kPixels = kBatch * 32.0 * 8 * 8;
constexpr double kMeans = 2.0 * kBatch * 32;

TensorId layer(GraphMaker& make, TensorId x) {
  return make.node(OperatorId::linear, {x, make.weight({64, 64})}, kTokens);
}

// What softmax, which autocast computes in single precision, makes for the readers that `read` adds.
template <typename Read>
Kernel softmax(Read read, std::string_view runtime = "compiled") {
  GraphMaker make;
  const TensorId x = make.node(OperatorId::softmax, {make.input(kTokens)}, kTokens, {{"axis", std::int64_t{-1}}});
  for (const Kernel& row : fuse(make.build(read(make, x)), runtime, "amp").rows) {
    if (row.kind == CostKind::softmax) return row;
  }
  throw std::runtime_error("no softmax");
}

TEST(OutsideReaders, LibrariesHaveOneNarrowCopyEach) {
  const Kernel kernel =
      softmax([](GraphMaker& make, TensorId x) { return std::vector{layer(make, x), layer(make, x), layer(make, x)}; });
  EXPECT_DOUBLE_EQ(kernel.bytes_out, 3 * 2 * kElements);
}

TEST(OutsideReaders, WhatIsReadAsItIsIsWrittenBesideItsNarrowCopy) {
  const Kernel kernel = softmax([](GraphMaker& make, TensorId x) {
    const TensorId y = layer(make, x);
    return std::vector{layer(make, make.node(OperatorId::mul, {x, y}, kTokens))};
  });
  EXPECT_DOUBLE_EQ(kernel.bytes_out, (4 + 2) * kElements);
}

TEST(OutsideReaders, AReaderInsideAsksForNothing) {
  const Kernel kernel = softmax([](GraphMaker& make, TensorId x) {
    return std::vector{layer(make, x), layer(make, make.node(OperatorId::exp, {x}, kTokens))};
  });
  EXPECT_DOUBLE_EQ(kernel.bytes_out, (2 + 2) * kElements);
}

TEST(OutsideReaders, TheCallersResultIsWrittenAsItIs) {
  const Kernel kernel = softmax([](GraphMaker& make, TensorId x) { return std::vector{x, layer(make, x)}; });
  EXPECT_DOUBLE_EQ(kernel.bytes_out, (4 + 2) * kElements);
}

TEST(OutsideReaders, EagerCastsInAKernelOfItsOwn) {
  const Kernel kernel = softmax([](GraphMaker& make, TensorId x) { return std::vector{layer(make, x)}; }, "eager");
  EXPECT_DOUBLE_EQ(kernel.bytes_out, 4 * kElements);
}

// An activation of a norm is computed again by the mean and by the scaling, which is after the mean: the norm is there.
TEST(OutsideReaders, WhatOthersAreComputedFromAgainIsWritten) {
  GraphMaker make;
  const TensorId norm = make.node(OperatorId::group_norm, {make.input(kImage), make.weight({32}), make.weight({32})},
                                  kImage, {{"num_groups", std::int64_t{1}}});
  const TensorId x = make.node(OperatorId::silu, {norm}, kImage);
  const TensorId mean = make.node(OperatorId::reduce_mean, {x}, {kBatch, 32, 1, 1}, {{"axes", Shape{2, 3}}});
  const TensorId gate = make.node(OperatorId::conv, {mean, make.weight({32, 32, 1, 1})}, {kBatch, 32, 1, 1},
                                  {{"kernel_shape", Shape{1, 1}}, {"strides", Shape{1, 1}}});
  const TensorId scaled = make.node(OperatorId::mul, {x, gate}, kImage);
  const TensorId y = make.node(OperatorId::conv, {scaled, make.weight({32, 32, 1, 1})}, kImage,
                               {{"kernel_shape", Shape{1, 1}}, {"strides", Shape{1, 1}}});
  const Kernels kernels = fuse(make.build({y}), "compiled", "amp");
  EXPECT_DOUBLE_EQ(kernels.rows[0].bytes_out, 4 * kPixels + kMeans);
}

// What a library made is in memory: both its readers add the bias themselves, and neither writes the sum.
TEST(OutsideReaders, ABiasThatTwoKernelsAddIsWrittenByNone) {
  GraphMaker make;
  const Shape tokens{kBatch, 4, 4, 64};
  const TensorId x = make.input(tokens);
  const TensorId y = make.node(OperatorId::linear, {x, make.weight({64, 64}), make.weight({64})}, tokens);
  const TensorId sum = make.node(OperatorId::add, {make.input(tokens), y}, tokens);
  const TensorId norm = make.node(OperatorId::layer_norm, {sum, make.weight({64}), make.weight({64})}, tokens);
  const TensorId next = make.node(OperatorId::linear, {norm, make.weight({64, 64})}, tokens);
  const Kernels kernels = fuse(make.build({make.node(OperatorId::add, {y, next}, tokens)}), "compiled", "amp");
  const auto row = std::ranges::find(kernels.rows, CostKind::layer_norm, &Kernel::kind);
  ASSERT_NE(row, kernels.rows.end());
  EXPECT_DOUBLE_EQ(row->bytes_in, (2 + 4) * kElements);
  EXPECT_DOUBLE_EQ(row->bytes_out, 2 * kElements);
}

}  // namespace
}  // namespace latpred::testing
