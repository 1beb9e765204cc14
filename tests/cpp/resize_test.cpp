#include <gtest/gtest.h>

#include "derive.h"

namespace latpred::testing {
namespace {

using enum OperatorId;

AttributeValue words(const char* text) { return std::string(text); }

TEST(Resize, shapes) {
  const Operand none = Operand::absent();
  const Operand image({1, 1, 4, 8});
  check_cases({
      {"scales", resize, {image, none, Operand::reals({1, 1, 2, 0.6})}, {}, {{1, 1, 8, 4}}},
      {"sizes", resize, {image, none, none, Operand::integers({1, 1, 7, 9})}, {}, {{1, 1, 7, 9}}},
      {"empty scales",
       resize,
       {image, Operand::reals({}), Operand::reals({}), Operand::integers({1, 1, 7, 9})},
       {},
       {{1, 1, 7, 9}}},
      {"axes", resize, {image, none, none, Operand::integers({9, 7})}, {{"axes", Shape{3, 2}}}, {{1, 1, 7, 9}}},
      {"negative axes", resize, {image, none, Operand::reals({2, 3})}, {{"axes", Shape{-2, -1}}}, {{1, 1, 8, 24}}},
      // The scales wanted are 7/4 and 10/8: the smaller one is 1.25.
      {"not larger",
       resize,
       {image, none, none, Operand::integers({7, 10})},
       {{"axes", Shape{2, 3}}, {"keep_aspect_ratio_policy", words("not_larger")}},
       {{1, 1, 5, 10}}},
      {"not smaller",
       resize,
       {image, none, none, Operand::integers({7, 10})},
       {{"axes", Shape{2, 3}}, {"keep_aspect_ratio_policy", words("not_smaller")}},
       {{1, 1, 7, 14}}},
      {"region",
       resize,
       {image, Operand::reals({0, 0, 0.25, 0, 1, 1, 0.75, 1}), Operand::reals({1, 1, 2, 1})},
       {{"coordinate_transformation_mode", words("tf_crop_and_resize")}},
       {{1, 1, 4, 8}}},
      {"upsample", upsample, {image, Operand::reals({1, 1, 2, 3})}, {}, {{1, 1, 8, 24}}},
      {"upsample by attribute", upsample, {image}, {{"scales", std::vector<double>{1, 1, 2, 2}}}, {{1, 1, 8, 16}}},
      {"grid", grid_sample, {{2, 3, 8, 8}, {2, 5, 6, 2}}, {}, {{2, 3, 5, 6}}},
      {"grid in space", grid_sample, {{2, 3, 8, 8, 8}, {2, 5, 6, 7, 3}}, {}, {{2, 3, 5, 6, 7}}},
      {"affine", affine_grid, {{2, 2, 3}, Operand::integers({2, 3, 5, 6})}, {}, {{2, 5, 6, 2}}},
      {"columns", col2im, {{1, 5, 5}, Operand::integers({5, 5}), Operand::integers({1, 5})}, {}, {{1, 1, 5, 5}}},
      {"strided columns",
       col2im,
       {{1, 9, 4}, Operand::integers({5, 5}), Operand::integers({3, 3})},
       {{"strides", Shape{2, 2}}},
       {{1, 1, 5, 5}}},
  });
}

// Scales are float32: 1.2f times 10 is 12, not 11.
TEST(Resize, scales_are_float32) {
  const auto scale = static_cast<double>(1.2F);
  EXPECT_EQ(derive(resize, {{1, 1, 10, 10}, Operand::absent(), Operand::reals({1, 1, scale, scale})}).shape(),
            (Shape{1, 1, 12, 12}));
}

TEST(Resize, refusals) {
  const Operand none = Operand::absent();
  check_refused({
      {"nothing said", resize, {{1, 1, 4, 8}}, {}, {"scales or sizes"}},
      {"count", resize, {{1, 1, 4, 8}, none, Operand::reals({2, 2})}, {}, {"'scales' has 2", "expected 4"}},
      {"scale", resize, {{1, 1, 4, 8}, none, Operand::reals({1, 1, 0, 2})}, {}, {"scale 0"}},
      {"policy",
       resize,
       {{1, 4}, none, none, Operand::integers({1, 5})},
       {{"keep_aspect_ratio_policy", words("squash")}},
       {"'squash'", "not_larger"}},
      {"computed", resize, {{1, 4}, none, none, Operand({2}, DType::int64)}, {}, {"'sizes'", "computed from data"}},
      {"grid", grid_sample, {{2, 3, 8, 8}, {2, 5, 6, 3}}, {}, {"[2, 5, 6, 3]"}},
      {"columns", col2im, {{1, 5, 4}, Operand::integers({5, 5}), Operand::integers({1, 5})}, {}, {"5 times", "are 4"}},
  });
}

}  // namespace
}  // namespace latpred::testing
