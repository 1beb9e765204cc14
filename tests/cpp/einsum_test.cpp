#include "operators/einsum.h"

#include <gtest/gtest.h>

namespace latpred {
namespace {

TEST(Einsum, spells_ellipses_out_from_the_right) {
  const Einsum einsum = parse_einsum("...ij,...jk->...ik", {{2, 7, 3, 4}, {7, 4, 5}});
  EXPECT_EQ(einsum.operands, (std::vector<std::string>{"10ij", "0jk"}));
  EXPECT_EQ(einsum.output, "10ik");
  EXPECT_EQ(einsum.output_shape(), (Shape{2, 7, 3, 5}));
}

TEST(Einsum, pairs_from_the_left) {
  const std::vector<Gemm> products = parse_einsum("ij,jk,kl->il", {{3, 4}, {4, 5}, {5, 6}}).products();
  ASSERT_EQ(products.size(), 2U);
  EXPECT_EQ(products[0].m * products[0].n * products[0].k, 3 * 5 * 4);
  EXPECT_EQ(products[1].m * products[1].n * products[1].k, 3 * 6 * 5);
}

TEST(Einsum, sums_what_one_operand_alone_has_before_the_product) {
  const std::vector<Gemm> products = parse_einsum("ijx,jk->ik", {{3, 4, 100}, {4, 5}}).products();
  ASSERT_EQ(products.size(), 1U);
  EXPECT_EQ(products[0].k, 4);
}

TEST(Einsum, outer_products_have_no_inner_size) {
  const std::vector<Gemm> products = parse_einsum("i,j->ij", {{3}, {4}}).products();
  ASSERT_EQ(products.size(), 1U);
  EXPECT_EQ(products[0].m, 3);
  EXPECT_EQ(products[0].n, 4);
  EXPECT_EQ(products[0].k, 1);
}

TEST(Einsum, one_operand_is_no_product) { EXPECT_TRUE(parse_einsum("ij->ji", {{3, 4}}).products().empty()); }

}  // namespace
}  // namespace latpred
