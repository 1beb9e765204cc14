#include <gtest/gtest.h>

#include "derive.h"

namespace latpred::testing {
namespace {

using enum OperatorId;

TEST(Pooling, shapes) {
  const AttributeValue window2 = Shape{2, 2};
  const AttributeValue window3 = Shape{3, 3};
  const AttributeValue yes = std::int64_t{1};
  check_cases({
      {"plain", max_pool, {{1, 3, 32, 32}}, {{"kernel_shape", window2}}, {{1, 3, 31, 31}, {1, 3, 31, 31}}},
      {"resnet",
       max_pool,
       {{1, 64, 112, 112}},
       {{"kernel_shape", window3}, {"strides", Shape{2, 2}}, {"pads", Shape{1, 1, 1, 1}}},
       {{1, 64, 56, 56}}},
      {"rounded down",
       average_pool,
       {{1, 1, 4, 4}},
       {{"kernel_shape", window3}, {"strides", Shape{2, 2}}},
       {{1, 1, 1, 1}}},
      {"rounded up",
       average_pool,
       {{1, 1, 4, 4}},
       {{"kernel_shape", window3}, {"strides", Shape{2, 2}}, {"ceil_mode", yes}},
       {{1, 1, 2, 2}}},
      // The third window would start at 4, in the padding: ceil((2 + 2 - 1) / 2) + 1 = 3, of which 2 count.
      {"no window starts in the padding",
       max_pool,
       {{1, 1, 2, 2}},
       {{"kernel_shape", Shape{1, 1}}, {"strides", Shape{2, 2}}, {"pads", Shape{1, 1, 1, 1}}, {"ceil_mode", yes}},
       {{1, 1, 2, 2}}},
      {"dilated", max_pool, {{1, 1, 4, 4}}, {{"kernel_shape", window2}, {"dilations", Shape{2, 2}}}, {{1, 1, 2, 2}}},
      {"same",
       max_pool,
       {{1, 1, 5, 6}},
       {{"kernel_shape", window3}, {"strides", Shape{2, 2}}, {"auto_pad", std::string("SAME_LOWER")}},
       {{1, 1, 3, 3}}},
      {"one dimension", lp_pool, {{1, 3, 32}}, {{"kernel_shape", Shape{2}}}, {{1, 3, 31}}},
      {"three dimensions", max_pool, {{1, 3, 8, 8, 8}}, {{"kernel_shape", Shape{2, 2, 2}}}, {{1, 3, 7, 7, 7}}},
      {"global", global_average_pool, {{2, 512, 7, 7}}, {}, {{2, 512, 1, 1}}},
      {"global in one dimension", global_max_pool, {{2, 5, 7}}, {}, {{2, 5, 1}}},
      {"channels last", qlinear_global_average_pool, {{2, 7, 7, 512}}, {{"channels_last", yes}}, {{2, 1, 1, 512}}},
      {"window with channels last",
       qlinear_average_pool,
       {{2, 7, 9, 512}},
       {{"channels_last", yes}, {"kernel_shape", window2}},
       {{2, 6, 8, 512}}},
      {"adaptive", adaptive_average_pool, {{2, 8, 9, 11}}, {{"output_size", Shape{3, -1}}}, {{2, 8, 3, 11}}},
      {"adaptive square",
       adaptive_max_pool,
       {{2, 8, 9, 11}},
       {{"output_size", Shape{3}}},
       {{2, 8, 3, 3}, {2, 8, 3, 3}}},
      {"unpool",
       max_unpool,
       {{1, 1, 2, 2}, {1, 1, 2, 2}},
       {{"kernel_shape", window2}, {"strides", Shape{2, 2}}},
       {{1, 1, 4, 4}}},
      {"unpool to a shape",
       max_unpool,
       {{1, 1, 2, 2}, {1, 1, 2, 2}, Operand::integers({1, 1, 5, 5})},
       {{"kernel_shape", window2}},
       {{1, 1, 5, 5}}},
      {"regions",
       roi_align,
       {{2, 16, 50, 50}, {7, 4}, {7}},
       {{"output_height", std::int64_t{5}}, {"output_width", std::int64_t{6}}},
       {{7, 16, 5, 6}}},
      {"max of regions", max_roi_pool, {{2, 16, 50, 50}, {7, 5}}, {{"pooled_shape", Shape{3, 4}}}, {{7, 16, 3, 4}}},
  });
  EXPECT_EQ(derive(max_pool, {{1, 1, 4, 4}}, {{"kernel_shape", window2}}, 2).dtype(1), DType::int64);
}

TEST(Pooling, refusals) {
  check_refused({
      {"no window", max_pool, {{1, 3, 32, 32}}, {}, {"window []", "2 dimensions"}},
      {"window too large", max_pool, {{1, 3, 2, 2}}, {{"kernel_shape", Shape{3, 3}}}, {"spans 3", "has 2"}},
      {"no spatial dimension", max_pool, {{1, 3}}, {{"kernel_shape", Shape{3}}}, {"[1, 3]", "spatial"}},
      {"adaptive without a size", adaptive_average_pool, {{1, 3, 4, 4}}, {}, {"'output_size'", "2 entries"}},
      {"region without a corner", roi_align, {{2, 16, 50, 50}, {7, 5}, {7}}, {}, {"regions [number, 4]", "[7, 5]"}},
      {"indices of another shape", max_unpool, {{1, 1, 2, 2}, {1, 1, 3, 2}}, {}, {"[1, 1, 3, 2]"}},
  });
}

}  // namespace
}  // namespace latpred::testing
