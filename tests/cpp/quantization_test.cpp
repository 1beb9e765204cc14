#include <gtest/gtest.h>

#include "derive.h"

namespace latpred::testing {
namespace {

using enum OperatorId;

TEST(Quantization, types_of_results) {
  const Operand x({2, 8, 4});
  const Operand scale({}, DType::float32);
  EXPECT_EQ(derive(quantize_linear, {x, scale}).dtype(), DType::uint8);
  EXPECT_EQ(derive(quantize_linear, {x, scale, Operand({}, DType::int4)}).dtype(), DType::int4);
  EXPECT_EQ(derive(quantize_linear, {x, scale}, {{"output_dtype", std::int64_t{17}}}).dtype(), DType::float8e4m3fn);
  const Operand q({2, 8, 4}, DType::int8);
  EXPECT_EQ(derive(dequantize_linear, {q, Operand({8}, DType::float16)}).dtype(), DType::float16);
  EXPECT_EQ(derive(dequantize_linear, {q, scale}, {{"output_dtype", std::int64_t{16}}}).dtype(), DType::bfloat16);
  const Derived dynamic = derive(dynamic_quantize_linear, {x}, {}, 3);
  EXPECT_EQ(dynamic.dtype(0), DType::uint8);
  EXPECT_EQ(dynamic.shape(1), Shape{});
  EXPECT_EQ(dynamic.dtype(2), DType::uint8);
}

TEST(Quantization, shapes) {
  const Operand scale({});
  check_cases({
      {"per channel", quantize_linear, {{2, 8, 4}, Operand({8})}, {{"axis", std::int64_t{1}}}, {{2, 8, 4}}},
      {"blocks", dequantize_linear, {{8, 64}, {8, 2}}, {{"block_size", std::int64_t{32}}}, {{8, 64}}},
      {"sum", qlinear_add, {{2, 8, 1}, scale, scale, {4}, scale, scale, scale, scale}, {}, {{2, 8, 4}}},
      {"concat", qlinear_concat, {scale, scale, {2, 3, 4}, scale, scale, {2, 5, 4}, scale, scale}, {}, {{2, 8, 4}}},
      {"sigmoid", qlinear_sigmoid, {{2, 8}, scale, scale, scale, scale}, {}, {{2, 8}}},
  });
}

TEST(Quantization, refusals) {
  const Operand scale({});
  check_refused({
      {"scale", quantize_linear, {{2, 8, 4}, Operand({7})}, {}, {"scale [7]", "[2, 8, 4]"}},
      {"blocks", quantize_linear, {{2, 8, 4}, {2, 8}}, {}, {"scale [2, 8]"}},
      {"type", quantize_linear, {{2}, scale}, {{"output_dtype", std::int64_t{77}}}, {"element type 77"}},
      {"concat", qlinear_concat, {scale, scale, {2, 3, 4}, scale, scale, {2, 5, 5}, scale, scale}, {}, {"[2, 5, 5]"}},
  });
}

}  // namespace
}  // namespace latpred::testing
