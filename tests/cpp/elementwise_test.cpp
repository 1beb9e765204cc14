#include <gtest/gtest.h>

#include <limits>

#include "derive.h"

namespace latpred::testing {
namespace {

using enum OperatorId;

std::vector<std::int64_t> folded(OperatorId op, const std::vector<Operand>& inputs, const Settings& settings = {}) {
  return derive(op, inputs, settings).value().integers;
}

TEST(Elementwise, shapes) {
  check_cases({
      {"unary", relu, {{2, 3}}, {}, {{2, 3}}},
      {"broadcast", add, {{2, 1, 4}, {3, 1}}, {}, {{2, 3, 4}}},
      {"with a scalar", mul, {{2, 3}, Operand(Shape{})}, {}, {{2, 3}}},
      {"with nothing in it", add, {{2, 0}, {1}}, {}, {{2, 0}}},
      {"many", sum, {{3}, {2, 1}, {5, 1, 1}}, {}, {{5, 2, 3}}},
      {"choice", where, {Operand({2, 1}, DType::boolean), {3}, Operand(Shape{})}, {}, {{2, 3}}},
      {"per channel since opset 7", prelu, {{1, 4, 5, 5}, {4, 1, 1}}, {}, {{1, 4, 5, 5}}},
      {"per channel before", prelu, {{1, 4, 5, 5}, Operand({4})}, {}, {{1, 4, 5, 5}}},
      {"legacy axis",
       add,
       {{2, 3, 4, 5}, {3, 4}},
       {{"broadcast", std::int64_t{1}}, {"axis", std::int64_t{1}}},
       {{2, 3, 4, 5}}},
      {"dropout", dropout, {{2, 3}}, {}, {{2, 3}, {2, 3}}},
      {"gated halves", swiglu, {{2, 8}}, {}, {{2, 4}}},
      {"gate and value", swiglu, {{2, 8}, {2, 8}}, {}, {{2, 8}}},
  });
}

TEST(Elementwise, types) {
  EXPECT_EQ(derive(less, {{2}, {2}}).dtype(), DType::boolean);
  EXPECT_EQ(derive(is_nan, {{2}}).dtype(), DType::boolean);
  EXPECT_EQ(derive(dropout, {{2}}, {}, 2).dtype(1), DType::boolean);
  EXPECT_EQ(derive(cast, {{2}}, {{"to", std::int64_t{10}}}).dtype(), DType::float16);
  EXPECT_EQ(derive(cast_like, {{2}, Operand({}, DType::bfloat16)}).dtype(), DType::bfloat16);
  EXPECT_EQ(derive(pow, {{2}, Operand({}, DType::int64)}).dtype(), DType::float32);
  EXPECT_EQ(derive(add, {Operand({}, DType::int64), {2}}).dtype(), DType::float32);
  EXPECT_EQ(
      derive(where, {Operand({2}, DType::boolean), Operand({2}, DType::int64), Operand({}, DType::int64)}).dtype(),
      DType::int64);
}

TEST(Elementwise, integer_arithmetic_of_known_values) {
  const auto list = [](std::vector<std::int64_t> values) { return Operand::integers(values); };
  using Integers = std::vector<std::int64_t>;
  EXPECT_EQ(folded(add, {list({1, 2}), list({10, 20})}), (Integers{11, 22}));
  EXPECT_EQ(folded(sub, {list({1, 2}), Operand::scalar(5)}), (Integers{-4, -3}));
  EXPECT_EQ(folded(mul, {Operand::integers({2, 3}, {2, 1}), list({4, 5})}), (Integers{8, 10, 12, 15}));
  EXPECT_EQ(folded(div, {list({7, -7}), list({2, 2})}), (Integers{3, -3}));
  EXPECT_EQ(folded(mod, {list({7, -7}), list({3, 3})}), (Integers{1, 2}));
  EXPECT_EQ(folded(mod, {list({7, -7}), list({3, 3})}, {{"fmod", std::int64_t{1}}}), (Integers{1, -1}));
  EXPECT_EQ(folded(pow, {list({2, 3}), list({10, 2})}), (Integers{1024, 9}));
  EXPECT_EQ(folded(neg, {list({4})}), (Integers{-4}));
  EXPECT_EQ(folded(max, {list({1, 9}), list({5, 5}), list({2, 2})}), (Integers{5, 9}));
  EXPECT_EQ(folded(min, {list({1, 9}), list({5, 5})}), (Integers{1, 5}));
  EXPECT_EQ(folded(equal, {list({1, 2}), list({1, 3})}), (Integers{1, 0}));
  EXPECT_EQ(folded(greater, {list({1, 4}), list({1, 3})}), (Integers{0, 1}));
  EXPECT_EQ(folded(less_or_equal, {list({1, 4}), list({1, 3})}), (Integers{1, 0}));
  EXPECT_EQ(folded(where, {Operand::integers({1, 0}, {2}, DType::boolean), list({5, 6}), Operand::scalar(-1)}),
            (Integers{5, -1}));
  EXPECT_EQ(folded(logical_not, {Operand::integers({1, 0}, {2}, DType::boolean)}), (Integers{0, 1}));
  EXPECT_EQ(folded(clip, {list({-3, 3, 9}), Operand::scalar(0), Operand::scalar(5)}), (Integers{0, 3, 5}));
  EXPECT_EQ(folded(bitwise_and, {list({6}), list({3})}), (Integers{2}));
  EXPECT_EQ(folded(bit_shift, {list({3}), list({2})}, {{"direction", std::string("LEFT")}}), (Integers{12}));
}

TEST(Elementwise, real_arithmetic_of_known_values) {
  EXPECT_EQ(derive(div, {Operand::reals({7}), Operand::reals({2})}).value().reals, (std::vector<double>{3.5}));
  EXPECT_EQ(derive(sqrt, {Operand::reals({9})}).value().reals, (std::vector<double>{3}));
  EXPECT_EQ(derive(ceil, {Operand::reals({1.2, -1.2})}).value().reals, (std::vector<double>{2, -1}));
  EXPECT_EQ(derive(floor, {Operand::reals({1.2, -1.2})}).value().reals, (std::vector<double>{1, -2}));
  EXPECT_EQ(derive(round, {Operand::reals({0.5, 1.5})}).value().reals, (std::vector<double>{0, 2}));
  EXPECT_EQ(folded(cast, {Operand::reals({3.9, -3.9})}, {{"to", std::int64_t{7}}}), (std::vector<std::int64_t>{3, -3}));
  EXPECT_EQ(folded(cast, {Operand::integers({0, 7})}, {{"to", std::int64_t{9}}}), (std::vector<std::int64_t>{0, 1}));
}

// Hostile constants must not overflow, divide by zero or shift too far.
TEST(Elementwise, arithmetic_at_the_edge) {
  constexpr std::int64_t kSmallest = std::numeric_limits<std::int64_t>::min();
  const auto one = [](std::int64_t value) { return Operand::integers({value}, {}); };
  using Integers = std::vector<std::int64_t>;
  EXPECT_EQ(folded(div, {one(kSmallest), one(-1)}), (Integers{kSmallest}));
  EXPECT_EQ(folded(div, {one(5), one(0)}), (Integers{0}));
  EXPECT_EQ(folded(mod, {one(kSmallest), one(-1)}), (Integers{0}));
  EXPECT_EQ(folded(neg, {one(kSmallest)}), (Integers{kSmallest}));
  EXPECT_EQ(folded(abs, {one(kSmallest)}), (Integers{kSmallest}));
  EXPECT_EQ(folded(mul, {one(kSmallest), one(3)}), (Integers{kSmallest}));
  EXPECT_EQ(folded(bit_shift, {one(1), one(64)}, {{"direction", std::string("LEFT")}}), (Integers{0}));
}

TEST(Elementwise, refusals) {
  check_refused({
      {"no broadcast", add, {{2, 3}, {4}}, {}, {"[2, 3]", "[4]", "broadcast"}},
      {"legacy axis", add, {{2, 3, 4}, {3}}, {{"broadcast", std::int64_t{1}}, {"axis", std::int64_t{2}}}, {"axis 2"}},
      {"slope", prelu, {{1, 4, 5, 5}, {3, 1, 1}}, {}, {"[3, 1, 1]"}},
      {"cast", cast, {{2}}, {{"to", std::int64_t{99}}}, {"element type 99"}},
      {"bits of reals", bitwise_and, {{2}, {2}}, {}, {"integers", "float32"}},
      {"bits of another width", bit_cast, {{2}}, {{"to", std::int64_t{10}}}, {"float32", "float16"}},
      {"odd halves", swiglu, {{2, 7}}, {}, {"even"}},
  });
}

}  // namespace
}  // namespace latpred::testing
