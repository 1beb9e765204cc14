#include "latpred/operators.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "latpred/error.h"
#include "latpred/text.h"
#include "message_of.h"

namespace latpred {
namespace {

TEST(Operators, stand_at_their_id) {
  for (std::size_t i = 0; i < operators().size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(operators()[i].id), i) << operators()[i].name;
  }
}

TEST(Operators, have_names_of_their_own) {
  std::set<std::string_view> names;
  for (const Operator& row : operators()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.family.empty()) << row.name;
    EXPECT_GE(row.flops_per_element, 0) << row.name;
  }
}

// Trained weights have learnt ids and kinds: rows are appended, never changed.
TEST(Operators, are_those_of_the_golden_file) {
  std::ifstream file(std::string(LATPRED_GOLDEN_DIR) + "/operators.txt");
  ASSERT_TRUE(file) << "tests/golden/operators.txt is missing";
  std::vector<std::string> expected;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("#")) expected.push_back(line);
  }
  ASSERT_EQ(operators().size(), expected.size()) << "append the new rows to tests/golden/operators.txt";
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Operator& row = operators()[i];
    EXPECT_EQ(concat(i, " ", row.name, " ", row.family, " ", cost_kind_name(row.kind)), expected[i]);
  }
}

TEST(Operators, are_found_by_name) {
  EXPECT_EQ(operator_row("conv").id, OperatorId::conv);
  EXPECT_EQ(operator_row(OperatorId::gelu).name, "gelu");
}

TEST(Operators, unknown_names_are_refused_with_a_suggestion) {
  const std::string message = testing::message_of<InvalidArgumentError>([] { (void)operator_row("convv"); });
  EXPECT_NE(message.find("unknown operator 'convv'; did you mean 'conv'?"), std::string::npos) << message;
  EXPECT_NE(message.find("max_pool"), std::string::npos);
}

TEST(Operators, unknown_ids_are_refused) {
  EXPECT_THROW((void)operator_row(static_cast<OperatorId>(60000)), InvalidArgumentError);
}

TEST(Operators, cost_kinds_have_names_of_their_own) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kNumCostKinds; ++i) {
    EXPECT_TRUE(names.insert(cost_kind_name(static_cast<CostKind>(i))).second);
  }
  EXPECT_EQ(cost_kind_name(CostKind::other), "other");
}

}  // namespace
}  // namespace latpred
