#include <limits>

#include "derive.h"

namespace latpred {
namespace {

using testing::check_cases;
using testing::check_refused;
using testing::derive;
using testing::Operand;
using Integers = std::vector<std::int64_t>;

constexpr std::int64_t kFarEnd = std::numeric_limits<std::int64_t>::max();

TEST(Index, ShapesOfTheFamily) {
  check_cases({
      {"gather rows", OperatorId::gather, {{100, 16}, Operand({2, 5}, DType::int64)}, {}, {{2, 5, 16}}},
      {"gather one", OperatorId::gather, {{4, 5}, Operand::scalar(-1)}, {{"axis", std::int64_t{1}}}, {{4}}},
      {"gather_nd", OperatorId::gather_nd, {{2, 3, 4}, Operand({5, 2}, DType::int64)}, {}, {{5, 4}}},
      {"gather_nd, batch",
       OperatorId::gather_nd,
       {{2, 3, 4}, Operand({2, 1}, DType::int64)},
       {{"batch_dims", std::int64_t{1}}},
       {{2, 4}}},
      {"gather_elements", OperatorId::gather_elements, {{3, 3}, Operand({2, 3}, DType::int64)}, {}, {{2, 3}}},
      {"scatter_nd", OperatorId::scatter_nd, {{4, 4}, {2, 1}, {2, 4}}, {}, {{4, 4}}},
      {"one_hot", OperatorId::one_hot, {{2, 2}, Operand::scalar(10), {2}}, {{"axis", std::int64_t{1}}}, {{2, 10, 2}}},
      {"embedding", OperatorId::embedding, {{100, 16}, Operand({2, 5}, DType::int64)}, {}, {{2, 5, 16}}},
      {"concat", OperatorId::concat, {{1, 2, 4}, {1, 3, 4}}, {{"axis", std::int64_t{-2}}}, {{1, 5, 4}}},
      {"split, equal", OperatorId::split, {{6, 2}}, {}, {{3, 2}, {3, 2}}},
      {"split, smaller last", OperatorId::split, {{7, 2}}, {}, {{3, 2}, {3, 2}, {1, 2}}},
      {"split, given", OperatorId::split, {{6, 2}, Operand::integers({1, 5})}, {}, {{1, 2}, {5, 2}}},
  });
}

TEST(Index, Slices) {
  const auto slice = [](Integers start, Integers end, Integers axis, Integers step) {
    return derive(OperatorId::slice, {{10, 20},
                                      Operand::integers(start),
                                      Operand::integers(end),
                                      Operand::integers(axis),
                                      Operand::integers(step)})
        .shape();
  };
  EXPECT_EQ(slice({2}, {7}, {0}, {2}), (Shape{3, 20}));
  EXPECT_EQ(slice({-3}, {kFarEnd}, {1}, {1}), (Shape{10, 3}));
  EXPECT_EQ(slice({-1}, {-kFarEnd}, {0}, {-1}), (Shape{10, 20}));
  EXPECT_EQ(slice({5}, {2}, {0}, {1}), (Shape{0, 20}));
  EXPECT_EQ(slice({0}, {-1 - 20}, {1}, {-kFarEnd - 1}), (Shape{10, 1}));
  EXPECT_EQ(derive(OperatorId::slice, {{10}}, {{"starts", Shape{1}}, {"ends", Shape{4}}}).shape(), (Shape{3}));
  const auto reversed =
      derive(OperatorId::slice, {Operand::integers({1, 2, 3}), Operand::integers({-1}), Operand::integers({-kFarEnd}),
                                 Operand::integers({0}), Operand::integers({-1})});
  EXPECT_EQ(reversed.value().integers, (Integers{3, 2, 1}));
}

TEST(Index, ContentFollows) {
  const Operand sizes = Operand::integers({8, 3, 224, 224});
  EXPECT_EQ(derive(OperatorId::gather, {sizes, Operand::integers({-1, 0})}).value().integers, (Integers{224, 8}));
  const auto joined =
      derive(OperatorId::concat, {Operand::integers({8}), Operand::integers({-1, 5})}, {{"axis", std::int64_t{0}}});
  EXPECT_EQ(joined.value().integers, (Integers{8, -1, 5}));
  const auto parts = derive(OperatorId::split, {sizes}, {}, 2);
  EXPECT_EQ(parts.value(1).integers, (Integers{224, 224}));
  EXPECT_EQ(derive(OperatorId::non_zero, {Operand::integers({0, 5, 7})}).value().integers, (Integers{1, 2}));
}

TEST(Index, SizesThatDependOnDataAreBoundsWithAWarning) {
  const auto found = derive(OperatorId::non_zero, {{2, 3}});
  EXPECT_EQ(found.shape(), (Shape{2, 6}));
  ASSERT_EQ(found.warnings.size(), 1U);
  EXPECT_NE(found.warnings[0].find("upper bound"), std::string::npos);
  EXPECT_EQ(derive(OperatorId::compress, {{2, 3}, Operand::integers({1, 0, 1})}).warnings.size(), 0U);
}

TEST(Index, Refused) {
  check_refused({
      {"sizes differ", OperatorId::concat, {{1, 2}, {2, 2}}, {{"axis", std::int64_t{1}}}, {"[1, 2]", "[2, 2]"}},
      {"parts do not add up", OperatorId::split, {{6}, Operand::integers({6, 1})}, {}, {"do not add up to 6"}},
      {"index outside", OperatorId::gather, {{3, 4}, Operand::integers({3})}, {}, {"index 3"}},
      {"step 0",
       OperatorId::slice,
       {{4}, Operand::integers({0}), Operand::integers({2}), Operand::integers({0}), Operand::integers({0})},
       {},
       {"step is 0"}},
      {"depth of a list", OperatorId::one_hot, {{2}, Operand::integers({3, 4}), {2}}, {}, {"one number"}},
  });
}

TEST(Creation, ShapesAndContent) {
  EXPECT_EQ(derive(OperatorId::shape, {{2, 3, 5}}, {{"start", std::int64_t{-2}}}).value().integers, (Integers{3, 5}));
  EXPECT_EQ(derive(OperatorId::size, {{2, 3}}).value().integers, Integers{6});
  EXPECT_EQ(derive(OperatorId::range, {Operand::scalar(10), Operand::scalar(4), Operand::scalar(-3)}).value().integers,
            (Integers{10, 7}));
  const auto filled = derive(OperatorId::constant_of_shape, {Operand::integers({2, 2})},
                             {{"value", Shape{7}}, {"value_dtype", static_cast<std::int64_t>(DType::int64)}});
  EXPECT_EQ(filled.value().integers, (Integers{7, 7, 7, 7}));
  EXPECT_EQ(filled.dtype(), DType::int64);
  EXPECT_EQ(derive(OperatorId::constant_of_shape, {Operand::integers({3})}).value().reals, std::vector<double>(3));
}

}  // namespace
}  // namespace latpred
