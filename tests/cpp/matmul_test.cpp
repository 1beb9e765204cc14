#include <gtest/gtest.h>

#include "derive.h"

namespace latpred::testing {
namespace {

using enum OperatorId;

const AttributeValue kYes = std::int64_t{1};

AttributeValue equation(const char* text) { return std::string(text); }

TEST(Matmul, shapes) {
  check_cases({
      {"matrices", matmul, {{3, 4}, {4, 5}}, {}, {{3, 5}}},
      {"batches", matmul, {{2, 7, 3, 4}, {2, 7, 4, 5}}, {}, {{2, 7, 3, 5}}},
      {"broadcast batches", matmul, {{2, 1, 3, 4}, {7, 4, 5}}, {}, {{2, 7, 3, 5}}},
      {"row vector", matmul, {{4}, {2, 4, 5}}, {}, {{2, 5}}},
      {"column vector", matmul, {{2, 3, 4}, {4}}, {}, {{2, 3}}},
      {"vectors", matmul, {{4}, {4}}, {}, {Shape{}}},
      {"gemm", gemm, {{3, 4}, {4, 5}, {5}}, {}, {{3, 5}}},
      {"transposed gemm", gemm, {{4, 3}, {5, 4}, {1, 1}}, {{"transA", kYes}, {"transB", kYes}}, {{3, 5}}},
      {"linear", linear, {{2, 7, 4}, {5, 4}, {5}}, {}, {{2, 7, 5}}},
      {"linear to one number", linear, {{2, 7, 4}, Operand({4})}, {}, {{2, 7}}},
      {"transposed", fused_matmul, {{2, 4, 3}, {2, 5, 4}}, {{"transA", kYes}, {"transB", kYes}}, {{2, 3, 5}}},
      {"batch inside",
       fused_matmul,
       {{3, 2, 4}, {4, 2, 5}},
       {{"transBatchA", kYes}, {"transBatchB", kYes}},
       {{2, 3, 5}}},
      {"few bits",
       matmul_nbits,
       {{1, 9, 64}, {32, 2, 16}, Operand({64})},
       {{"N", std::int64_t{32}}, {"K", std::int64_t{64}}, {"bits", std::int64_t{4}}},
       {{1, 9, 32}}},
      {"dynamically quantised", dynamic_quantize_matmul, {{2, 3, 4}, {4, 5}, Operand({5})}, {}, {{2, 3, 5}}},
  });
}

TEST(Matmul, types) {
  const Operand a({3, 4}, DType::uint8);
  const Operand b({4, 5}, DType::int8);
  const Operand scale({}, DType::float32);
  const Operand zero({}, DType::uint8);
  EXPECT_EQ(derive(matmul_integer, {a, b}).dtype(), DType::int32);
  EXPECT_EQ(derive(matmul_integer_to_float, {a, b, scale, scale}).dtype(), DType::float32);
  EXPECT_EQ(derive(qlinear_matmul, {a, scale, zero, b, scale, zero, scale, zero}).dtype(), DType::uint8);
  EXPECT_EQ(derive(qgemm, {a, scale, zero, b, scale, zero}).dtype(), DType::float32);
  EXPECT_EQ(derive(qgemm, {a, scale, zero, b, scale, zero, Operand::absent(), scale, zero}).dtype(), DType::uint8);
}

TEST(Matmul, einsum) {
  check_cases({
      {"product", einsum, {{3, 4}, {4, 5}}, {{"equation", equation("ij,jk->ik")}}, {{3, 5}}},
      {"implicit output", einsum, {{3, 4}, {4, 5}}, {{"equation", equation("ij, jk")}}, {{3, 5}}},
      {"implicit output in alphabetical order", einsum, {{3, 4}}, {{"equation", equation("ba")}}, {{4, 3}}},
      {"ellipsis", einsum, {{2, 7, 3, 4}, {4, 5}}, {{"equation", equation("...ij,jk->...ik")}}, {{2, 7, 3, 5}}},
      {"ellipses of different rank",
       einsum,
       {{2, 7, 3, 4}, {7, 4, 5}},
       {{"equation", equation("...ij,...jk->...ik")}},
       {{2, 7, 3, 5}}},
      {"diagonal", einsum, {{2, 4, 4}}, {{"equation", equation("...ii->...i")}}, {{2, 4}}},
      {"sum", einsum, {{3, 4}}, {{"equation", equation("ij->i")}}, {Shape{3}}},
      {"scalar", einsum, {{4}, {4}}, {{"equation", equation("i,i")}}, {Shape{}}},
      {"heads", einsum, {{2, 5, 8, 64}, {2, 6, 8, 64}}, {{"equation", equation("bqhd,bkhd->bhqk")}}, {{2, 8, 5, 6}}},
      {"three operands", einsum, {{3, 4}, {4, 5}, {5, 6}}, {{"equation", equation("ij,jk,kl->il")}}, {{3, 6}}},
      {"broadcast of one", einsum, {{3, 1}, {4, 5}}, {{"equation", equation("ij,jk->ik")}}, {{3, 5}}},
  });
}

TEST(Matmul, refusals) {
  check_refused({
      {"inner sizes", matmul, {{3, 4}, {5, 6}}, {}, {"[3, 4] x [5, 6]", "4 with 5"}},
      {"batches", matmul, {{2, 3, 4}, {3, 4, 5}}, {}, {"[2]", "[3]", "broadcast"}},
      {"scalar", matmul, {Operand(Shape{}), {4, 5}}, {}, {"at least one dimension"}},
      {"gemm of three dimensions", gemm, {{2, 3, 4}, {4, 5}}, {}, {"matrices", "[2, 3, 4]"}},
      {"gemm's C", gemm, {{3, 4}, {4, 5}, {3}}, {}, {"C [3]", "[3, 5]"}},
      {"gemm transposed", gemm, {{3, 4}, {4, 5}}, {{"transA", kYes}}, {"(transposed)", "3 with 4"}},
      {"linear", linear, {{2, 4}, {4, 5}}, {}, {"[out, in]"}},
      {"few bits", matmul_nbits, {{1, 9, 64}}, {{"N", std::int64_t{32}}, {"K", std::int64_t{128}}}, {"K = 128"}},
      {"einsum operands", einsum, {{3, 4}}, {{"equation", equation("ij,jk->ik")}}, {"2 operands, there are 1"}},
      {"einsum rank", einsum, {{3, 4}}, {{"equation", equation("ijk->i")}}, {"[3, 4]", "'ijk'"}},
      {"einsum sizes", einsum, {{3, 4}, {5, 6}}, {{"equation", equation("ij,jk->ik")}}, {"'j' is both 4 and 5"}},
      {"einsum letters", einsum, {{3, 4}}, {{"equation", equation("i%->i")}}, {"unexpected '%'"}},
      {"einsum output", einsum, {{3, 4}}, {{"equation", equation("ij->k")}}, {"'k' in its output only"}},
  });
}

}  // namespace
}  // namespace latpred::testing
