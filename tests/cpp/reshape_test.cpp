#include "derive.h"

namespace latpred {
namespace {

using testing::check_cases;
using testing::check_refused;
using testing::derive;
using testing::Operand;

TEST(Reshape, ShapesOfTheFamily) {
  check_cases({
      {"target with -1", OperatorId::reshape, {{2, 3, 4}, Operand::integers({-1, 4})}, {}, {{6, 4}}},
      {"target with 0", OperatorId::reshape, {{2, 3, 4}, Operand::integers({0, -1})}, {}, {{2, 12}}},
      {"zero allowed",
       OperatorId::reshape,
       {{0, 3}, Operand::integers({3, 0})},
       {{"allowzero", std::int64_t{1}}},
       {{3, 0}}},
      {"to a scalar", OperatorId::reshape, {{1, 1}, Operand::integers({})}, {}, {{}}},
      {"attribute of opset 1", OperatorId::reshape, {{2, 6}}, {{"shape", Shape{3, 4}}}, {{3, 4}}},
      {"flatten", OperatorId::flatten, {{2, 3, 4}}, {{"axis", std::int64_t{2}}}, {{6, 4}}},
      {"flatten at 0", OperatorId::flatten, {{2, 3}}, {{"axis", std::int64_t{0}}}, {{1, 6}}},
      {"squeeze all", OperatorId::squeeze, {{1, 3, 1}}, {}, {{3}}},
      {"squeeze one", OperatorId::squeeze, {{1, 3, 1}, Operand::integers({-1})}, {}, {{1, 3}}},
      {"unsqueeze", OperatorId::unsqueeze, {{3}, Operand::integers({0, -1})}, {}, {{1, 3, 1}}},
      {"expand", OperatorId::expand, {{3, 1}, Operand::integers({2, 1, 6})}, {}, {{2, 3, 6}}},
      {"transpose", OperatorId::transpose, {{2, 3, 4}}, {{"perm", Shape{2, 0, 1}}}, {{4, 2, 3}}},
      {"transpose reversed", OperatorId::transpose, {{2, 3, 4}}, {}, {{4, 3, 2}}},
      {"depth to space", OperatorId::depth_to_space, {{1, 8, 2, 3}}, {{"blocksize", std::int64_t{2}}}, {{1, 2, 4, 6}}},
      {"space to depth", OperatorId::space_to_depth, {{1, 2, 4, 6}}, {{"blocksize", std::int64_t{2}}}, {{1, 8, 2, 3}}},
      {"tile", OperatorId::tile, {{2, 3}, Operand::integers({2, 1})}, {}, {{4, 3}}},
      {"pad", OperatorId::pad, {{2, 3}, Operand::integers({0, 1, 0, 2})}, {}, {{2, 6}}},
      {"pad of one axis",
       OperatorId::pad,
       {{2, 3}, Operand::integers({1, -1}), Operand::absent(), Operand::integers({-1})},
       {},
       {{2, 3}}},
      {"center crop and pad", OperatorId::center_crop_pad, {{5, 9}, Operand::integers({7, 3})}, {}, {{7, 3}}},
  });
}

TEST(Reshape, Refused) {
  check_refused({
      {"counts disagree",
       OperatorId::reshape,
       {{2, 3}, Operand::integers({4, 2})},
       {},
       {"[2, 3]", "6 elements", "[4, 2]"}},
      {"-1 does not divide", OperatorId::reshape, {{2, 3}, Operand::integers({4, -1})}, {}, {"cannot reshape"}},
      {"two open sizes", OperatorId::reshape, {{2, 3}, Operand::integers({-1, -1})}, {}, {"more than one -1"}},
      {"unknown target", OperatorId::reshape, {{2, 3}, Operand({2}, DType::int64)}, {}, {"computed from data"}},
      {"product overflows", OperatorId::reshape, {{2}, Operand::integers({1LL << 40, 1LL << 40})}, {}, {"2^62"}},
      {"squeeze of 3", OperatorId::squeeze, {{1, 3}, Operand::integers({1})}, {}, {"cannot squeeze"}},
      {"axis outside", OperatorId::unsqueeze, {{3}, Operand::integers({4})}, {}, {"axis 4"}},
      {"repeated axis", OperatorId::transpose, {{2, 3}}, {{"perm", Shape{0, 0}}}, {"repeats"}},
      {"channels do not divide",
       OperatorId::depth_to_space,
       {{1, 6, 2, 2}},
       {{"blocksize", std::int64_t{2}}},
       {"6 channels"}},
      {"tile overflows", OperatorId::tile, {{1LL << 40}, Operand::integers({1LL << 40})}, {}, {"2^63"}},
      {"pad below nothing", OperatorId::pad, {{3}, Operand::integers({-2, -2})}, {}, {"negative"}},
  });
}

TEST(Reshape, ContentFollows) {
  const auto transposed =
      derive(OperatorId::transpose, {Operand::integers({1, 2, 3, 4, 5, 6}, {2, 3})}, {{"perm", Shape{1, 0}}});
  EXPECT_EQ(transposed.value().integers, (std::vector<std::int64_t>{1, 4, 2, 5, 3, 6}));
  const auto tiled = derive(OperatorId::tile, {Operand::integers({1, 2}), Operand::integers({2})});
  EXPECT_EQ(tiled.value().integers, (std::vector<std::int64_t>{1, 2, 1, 2}));
  const auto expanded = derive(OperatorId::expand, {Operand::integers({1, 2}, {2, 1}), Operand::integers({2, 2})});
  EXPECT_EQ(expanded.value().integers, (std::vector<std::int64_t>{1, 1, 2, 2}));
}

}  // namespace
}  // namespace latpred
