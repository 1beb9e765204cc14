#include <gtest/gtest.h>

#include <limits>

#include "derive.h"

namespace latpred::testing {
namespace {

using enum OperatorId;

TEST(Convolution, shapes) {
  check_cases({
      {"unpadded", conv, {{2, 3, 10, 12}, {8, 3, 3, 5}}, {}, {{2, 8, 8, 8}}},
      {"resnet stem",
       conv,
       {{1, 3, 224, 224}, {64, 3, 7, 7}, {64}},
       {{"strides", Shape{2, 2}}, {"pads", Shape{3, 3, 3, 3}}},
       {{1, 64, 112, 112}}},
      {"uneven pads", conv, {{1, 1, 5, 5}, {1, 1, 3, 3}}, {{"pads", Shape{0, 1, 2, 3}}}, {{1, 1, 5, 7}}},
      {"dilated", conv, {{1, 1, 9, 9}, {1, 1, 3, 3}}, {{"dilations", Shape{2, 3}}}, {{1, 1, 5, 3}}},
      {"depthwise", conv, {{1, 6, 8, 8}, {12, 1, 3, 3}}, {{"group", std::int64_t{6}}}, {{1, 12, 6, 6}}},
      {"one dimension", conv, {{4, 2, 100}, {5, 2, 7}}, {{"strides", Shape{3}}}, {{4, 5, 32}}},
      {"three dimensions", conv, {{1, 2, 8, 9, 10}, {4, 2, 2, 3, 4}}, {}, {{1, 4, 7, 7, 7}}},
      {"same upper",
       conv,
       {{1, 1, 7, 8}, {1, 1, 3, 3}},
       {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Shape{2, 2}}},
       {{1, 1, 4, 4}}},
      {"valid",
       conv,
       {{1, 1, 7, 8}, {1, 1, 3, 3}},
       {{"auto_pad", std::string("VALID")}, {"strides", Shape{2, 2}}},
       {{1, 1, 3, 3}}},
      {"no batch at all", conv, {{0, 3, 8, 8}, {4, 3, 3, 3}}, {}, {{0, 4, 6, 6}}},
      {"deformable", deform_conv, {{1, 1, 3, 3}, {1, 1, 2, 2}, {1, 8, 2, 2}}, {}, {{1, 1, 2, 2}}},
      {"causal", causal_conv_with_state, {{2, 8, 16}, {8, 1, 4}}, {}, {{2, 8, 16}, {2, 8, 3}}},
  });
}

TEST(Convolution, transposed_shapes) {
  check_cases({
      {"plain", conv_transpose, {{1, 1, 3, 3}, {1, 2, 3, 3}}, {}, {{1, 2, 5, 5}}},
      {"strided with output padding",
       conv_transpose,
       {{1, 1, 3, 3}, {1, 2, 3, 3}},
       {{"strides", Shape{3, 2}}, {"output_padding", Shape{1, 1}}},
       {{1, 2, 10, 8}}},
      {"output shape",
       conv_transpose,
       {{1, 1, 3, 3}, {1, 2, 3, 3}},
       {{"strides", Shape{3, 2}}, {"output_shape", Shape{10, 8}}},
       {{1, 2, 10, 8}}},
      {"same",
       conv_transpose,
       {{1, 1, 3, 3}, {1, 2, 3, 3}},
       {{"strides", Shape{2, 2}}, {"auto_pad", std::string("SAME_LOWER")}},
       {{1, 2, 6, 6}}},
      {"pads",
       conv_transpose,
       {{1, 1, 3, 3}, {1, 2, 3, 3}},
       {{"strides", Shape{3, 2}}, {"pads", Shape{1, 2, 1, 2}}},
       {{1, 2, 7, 3}}},
      {"dilated", conv_transpose, {{1, 1, 3, 3}, {1, 1, 2, 2}}, {{"dilations", Shape{2, 2}}}, {{1, 1, 5, 5}}},
      {"grouped", conv_transpose, {{1, 4, 3, 3}, {4, 3, 2, 2}}, {{"group", std::int64_t{2}}}, {{1, 6, 4, 4}}},
  });
}

TEST(Convolution, integer_results) {
  EXPECT_EQ(derive(conv_integer, {Operand({1, 1, 3, 3}, DType::uint8), Operand({1, 1, 2, 2}, DType::uint8)}).dtype(),
            DType::int32);
  const Operand scale({}, DType::float32);
  const Operand zero({}, DType::int8);
  const Derived derived = derive(qlinear_conv, {Operand({1, 3, 8, 8}, DType::uint8), scale, Operand({}, DType::uint8),
                                                Operand({4, 3, 3, 3}, DType::int8), scale, zero, scale, zero});
  EXPECT_EQ(derived.shape(), (Shape{1, 4, 6, 6}));
  EXPECT_EQ(derived.dtype(), DType::int8);
}

TEST(Convolution, refusals) {
  check_refused({
      {"channels", conv, {{1, 3, 8, 8}, {8, 4, 3, 3}}, {}, {"3 channels", "expects 4"}},
      {"channels of groups",
       conv,
       {{1, 6, 8, 8}, {8, 6, 3, 3}},
       {{"group", std::int64_t{2}}},
       {"6 channels", "6 in each of 2 groups"}},
      {"output channels",
       conv,
       {{1, 6, 8, 8}, {5, 3, 3, 3}},
       {{"group", std::int64_t{2}}},
       {"5 output channels", "2 groups"}},
      {"more groups than channels",
       conv,
       {{1, 6, 8, 8}, {8, 6, 3, 3}},
       {{"group", std::int64_t{7}}},
       {"6 channels", "7 groups"}},
      {"hostile dilation",
       conv,
       {{1, 1, 8, 8}, {1, 1, 3, 3}},
       {{"dilations", Shape{std::int64_t{1} << 62, 1}}},
       {"'dilations'", "too large"}},
      {"hostile pads",
       conv,
       {{1, 1, 8, 8}, {1, 1, 3, 3}},
       {{"pads", Shape{std::numeric_limits<std::int64_t>::max(), 1, 1, 1}}},
       {"'pads'", "too large"}},
      {"hostile image", conv, {{1, 1, std::int64_t{1} << 61}, {1, 1, 3}}, {}, {"no window slides"}},
      {"no group", conv, {{1, 6, 8, 8}, {5, 3, 3, 3}}, {{"group", std::int64_t{0}}}, {"'group'", "got 0"}},
      {"window too large", conv, {{1, 1, 2, 8}, {1, 1, 3, 3}}, {}, {"spans 3", "has 2"}},
      {"zero stride", conv, {{1, 1, 8, 8}, {1, 1, 3, 3}}, {{"strides", Shape{0, 1}}}, {"'strides'", "[0, 1]"}},
      {"pads", conv, {{1, 1, 8, 8}, {1, 1, 3, 3}}, {{"pads", Shape{1, 1}}}, {"'pads'", "4 entries"}},
      {"auto_pad", conv, {{1, 1, 8, 8}, {1, 1, 3, 3}}, {{"auto_pad", std::string("FULL")}}, {"'FULL'", "SAME_UPPER"}},
      {"bias", conv, {{1, 1, 8, 8}, {4, 1, 3, 3}, {3}}, {}, {"bias [3]", "[4]"}},
      {"rank", conv, {{1, 1, 8}, {4, 1, 3, 3}}, {}, {"as many dimensions"}},
      {"kernel_shape", conv, {{1, 1, 8, 8}, {4, 1, 3, 3}}, {{"kernel_shape", Shape{5, 5}}}, {"[5, 5]", "[4, 1, 3, 3]"}},
      {"transposed channels", conv_transpose, {{1, 3, 8, 8}, {4, 3, 3, 3}}, {}, {"3 channels", "expects 4"}},
      {"causal weight", causal_conv_with_state, {{2, 8, 16}, {8, 2, 4}}, {}, {"[channels, 1, window]"}},
  });
}

}  // namespace
}  // namespace latpred::testing
