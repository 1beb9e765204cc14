#include "kernels/strides.h"

#include <gtest/gtest.h>

#include "graph_maker.h"
#include "latpred/views.h"

namespace latpred {
namespace {

using testing::GraphMaker;

TEST(Strides, SizesOfOneDoNotMatterToContiguity) {
  EXPECT_TRUE(is_contiguous({2, 1, 3}, {3, 99, 1}));
  EXPECT_FALSE(is_contiguous({2, 2, 3}, {3, 6, 1}));
  EXPECT_TRUE(is_contiguous({2, 0, 3}, {7, 7, 7}));
}

TEST(Strides, RowMajorMayHaveGaps) {
  EXPECT_TRUE(is_row_major({2, 3, 4}, {24, 8, 1}));
  EXPECT_TRUE(is_row_major({2, 1, 4}, {4, 0, 1}));
  EXPECT_TRUE(is_row_major({2, 3, 4}, {12, 0, 1}));
  EXPECT_FALSE(is_row_major({2, 3, 4}, {12, 1, 3}));
}

TEST(Strides, ReadAcrossIsWhatLiesSideBySideOnlyWhereItIsWritten) {
  const Shape shape{2, 3, 4};
  EXPECT_FALSE(is_read_across(shape, {12, 4, 1}, {12, 4, 1}));
  EXPECT_FALSE(is_read_across(shape, {24, 8, 1}, {12, 4, 1}));  // gaps between rows
  EXPECT_TRUE(is_read_across(shape, {12, 1, 3}, {12, 4, 1}));
  EXPECT_FALSE(is_read_across(shape, {12, 1, 3}, {12, 1, 3}));  // both lie alike
  EXPECT_FALSE(is_read_across(shape, {0, 1, 0}, {12, 4, 1}));   // one element for all
  EXPECT_FALSE(is_read_across({2, 3, 1}, {3, 1, 3}, {3, 1, 1}));
}

TEST(Strides, ChannelsLastIsNhwcMemoryUnderNchwSizes) {
  EXPECT_TRUE(is_channels_last({2, 3, 4, 5}, {60, 1, 15, 3}));
  EXPECT_FALSE(is_channels_last({2, 3, 4, 5}, {60, 20, 5, 1}));
  EXPECT_FALSE(is_channels_last({2, 3, 1, 1}, {3, 1, 1, 1}));  // both: PyTorch says contiguous
  EXPECT_FALSE(is_channels_last({2, 3, 4}, {12, 1, 3}));
}

TEST(Strides, SomeOfAnImagesChannelsAreChannelsLastWithGaps) {
  const Shape shape{2, 3, 4, 5};
  EXPECT_TRUE(is_dense_channels_last(shape, {60, 1, 15, 3}));
  EXPECT_TRUE(is_channels_last(shape, {120, 1, 30, 6}));
  EXPECT_FALSE(is_dense_channels_last(shape, {120, 1, 30, 6}));
  EXPECT_TRUE(is_dense_channels_last({1, 3, 4, 5}, {120, 1, 15, 3}));
}

// Expected values are what torch.Tensor.stride() prints for the same expressions.
TEST(Strides, PointWiseOperatorsKeepTheOrderOfTheirOperand) {
  GraphMaker make;
  const TensorId x = make.input({2, 16, 8, 16});
  const TensorId t = make.node(OperatorId::transpose, {x}, {2, 8, 16, 16}, {{"perm", Shape{0, 2, 1, 3}}});
  const TensorId gelu = make.node(OperatorId::gelu, {t}, {2, 8, 16, 16});
  const TensorId sum = make.node(OperatorId::add, {t, make.input({16})}, {2, 8, 16, 16});
  const TensorId softmax = make.node(OperatorId::softmax, {t}, {2, 8, 16, 16});
  const ViewInfo info = find_views(make.build({gelu, sum, softmax}));
  EXPECT_EQ(info.strides[gelu], (Shape{2048, 16, 128, 1}));
  EXPECT_EQ(info.strides[sum], (Shape{2048, 16, 128, 1}));
  EXPECT_EQ(info.strides[softmax], (Shape{2048, 256, 16, 1}));
}

TEST(Strides, TheFirstOperandDecidesWhereTheyDiffer) {
  GraphMaker make;
  const TensorId a = make.input({4, 6});
  const TensorId b = make.node(OperatorId::transpose, {make.input({6, 4})}, {4, 6});
  const TensorId ab = make.node(OperatorId::add, {a, b}, {4, 6});
  const TensorId ba = make.node(OperatorId::add, {b, a}, {4, 6});
  const ViewInfo info = find_views(make.build({ab, ba}));
  EXPECT_EQ(info.strides[ab], (Shape{6, 1}));
  EXPECT_EQ(info.strides[ba], (Shape{1, 4}));
}

TEST(Strides, ConvolutionsKeepChannelsLast) {
  GraphMaker make;
  const TensorId image = make.input({2, 8, 8, 3});
  const TensorId x = make.node(OperatorId::transpose, {image}, {2, 3, 8, 8}, {{"perm", Shape{0, 3, 1, 2}}});
  const TensorId y = make.node(OperatorId::conv, {x, make.weight({5, 3, 1, 1})}, {2, 5, 8, 8});
  EXPECT_EQ(find_views(make.build({y})).strides[y], (Shape{320, 1, 40, 5}));
}

}  // namespace
}  // namespace latpred
