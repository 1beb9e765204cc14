#include <gtest/gtest.h>

#include "derive.h"

namespace latpred::testing {
namespace {

using enum OperatorId;

TEST(Reduction, shapes) {
  const AttributeValue no = std::int64_t{0};
  const AttributeValue yes = std::int64_t{1};
  check_cases({
      {"everything", reduce_sum, {{2, 3, 4}}, {}, {{1, 1, 1}}},
      {"everything, dropped", reduce_sum, {{2, 3, 4}}, {{"keepdims", no}}, {Shape{}}},
      {"axes in an attribute", reduce_mean, {{2, 3, 4}}, {{"axes", Shape{1, -1}}}, {{2, 1, 1}}},
      {"axes in an input", reduce_mean, {{2, 3, 4}, Operand::integers({1})}, {{"keepdims", no}}, {{2, 4}}},
      {"no axes mean all", reduce_max, {{2, 3}, Operand::integers({})}, {}, {{1, 1}}},
      {"no axes mean none", reduce_max, {{2, 3}, Operand::integers({})}, {{"noop_with_empty_axes", yes}}, {{2, 3}}},
      {"of nothing", reduce_l2, {{2, 0, 4}}, {{"axes", Shape{1}}}, {{2, 1, 4}}},
      {"arg max", arg_max, {{2, 3, 4}}, {}, {{1, 3, 4}}},
      {"arg min", arg_min, {{2, 3, 4}}, {{"axis", std::int64_t{-1}}, {"keepdims", no}}, {{2, 3}}},
      {"running sum", cum_sum, {{2, 3}, Operand::scalar(1)}, {}, {{2, 3}}},
      {"k in an attribute", top_k, {{2, 10}}, {{"k", std::int64_t{3}}}, {{2, 3}, {2, 3}}},
      {"k in an input", top_k, {{2, 10}, Operand::integers({4})}, {{"axis", std::int64_t{1}}}, {{2, 4}, {2, 4}}},
      {"determinant", det, {{5, 3, 3}}, {}, {Shape{5}}},
  });
  EXPECT_EQ(derive(arg_max, {{2, 3}}).dtype(), DType::int64);
  EXPECT_EQ(derive(top_k, {{2, 3}, Operand::integers({1})}, {}, 2).dtype(1), DType::int64);
}

TEST(Reduction, of_known_values) {
  const Operand table = Operand::integers({1, 2, 3, 4, 5, 6}, {2, 3});
  const Settings rows{{"axes", Shape{1}}, {"keepdims", std::int64_t{0}}};
  using Integers = std::vector<std::int64_t>;
  EXPECT_EQ(derive(reduce_prod, {table}, rows).value().integers, (Integers{6, 120}));
  EXPECT_EQ(derive(reduce_sum, {table}, rows).value().integers, (Integers{6, 15}));
  EXPECT_EQ(derive(reduce_max, {table}, rows).value().integers, (Integers{3, 6}));
  EXPECT_EQ(derive(reduce_min, {table}, {{"axes", Shape{0}}}).value().integers, (Integers{1, 2, 3}));
  EXPECT_EQ(derive(reduce_mean, {table}, rows).value().integers, (Integers{2, 5}));
  EXPECT_EQ(derive(reduce_prod, {Operand::integers({3, 224, 224})}).value().integers, (Integers{150528}));
}

TEST(Reduction, refusals) {
  check_refused({
      {"axis", reduce_sum, {{2, 3}}, {{"axes", Shape{2}}}, {"axis 2", "2 dimensions"}},
      {"computed axes", reduce_sum, {{2, 3}, Operand({1}, DType::int64)}, {}, {"'axes'", "computed from data"}},
      {"k", top_k, {{2, 3}, Operand::integers({4})}, {}, {"K = 4", "3 elements"}},
      {"no k", top_k, {{2, 3}}, {}, {"one K"}},
      {"determinant", det, {{3, 4}}, {}, {"square", "[3, 4]"}},
  });
}

}  // namespace
}  // namespace latpred::testing
