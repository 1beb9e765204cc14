#include "operators/layout.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "latpred/error.h"
#include "message_of.h"

namespace latpred {
namespace {

Attributes with(const std::string& name, AttributeValue value) {
  Attributes attributes;
  attributes.set(name, std::move(value));
  return attributes;
}

const Attributes kFirst;
const Attributes kLast = with("channels_last", std::int64_t{1});

TEST(Layout, ChannelAxis) {
  EXPECT_EQ(channel_axis(kFirst, 4), 1U);
  EXPECT_EQ(channel_axis(kLast, 4), 3U);
  EXPECT_EQ(channel_axis(kLast, 2), 1U);
  EXPECT_EQ(channel_axis(kLast, 1), 0U);
  EXPECT_EQ(channel_axis(with("channels_last", std::int64_t{0}), 4), 1U);
}

TEST(Layout, OrdersAreInverse) {
  EXPECT_EQ(channels_first(kFirst, {2, 3, 5, 7}), (Shape{2, 3, 5, 7}));
  EXPECT_EQ(channels_first(kLast, {2, 5, 7, 3}), (Shape{2, 3, 5, 7}));
  EXPECT_EQ(in_file_order(kLast, {2, 3, 5, 7}), (Shape{2, 5, 7, 3}));
  EXPECT_EQ(channels_first(kLast, {2, 3}), (Shape{2, 3}));
  for (const Shape& shape : std::vector<Shape>{{4}, {4, 5}, {4, 5, 6}, {4, 5, 6, 7}, {4, 5, 6, 7, 8}}) {
    EXPECT_EQ(in_file_order(kLast, channels_first(kLast, shape)), shape);
  }
}

struct FilterCase {
  OperatorId op;
  std::string order;
  Shape weight;
  std::int64_t in;
  std::int64_t out;
  Shape window;
};

TEST(Layout, Filters) {
  const std::vector<FilterCase> cases{
      {OperatorId::conv, "", {8, 4, 3, 5}, 4, 8, {3, 5}},
      {OperatorId::conv, "OIHW", {8, 4, 3, 5}, 4, 8, {3, 5}},
      {OperatorId::conv, "OIHW", {8, 4, 3}, 4, 8, {3}},
      {OperatorId::conv, "OIHW", {8, 4, 2, 3, 5}, 4, 8, {2, 3, 5}},
      {OperatorId::conv, "HWIO", {3, 5, 4, 8}, 4, 8, {3, 5}},
      {OperatorId::conv, "HWIO", {3, 4, 8}, 4, 8, {3}},
      {OperatorId::conv, "HWIO", {2, 3, 5, 4, 8}, 4, 8, {2, 3, 5}},
      {OperatorId::conv, "HWIM", {3, 5, 4, 2}, 1, 8, {3, 5}},
      {OperatorId::conv, "HWIM", {3, 4, 2}, 1, 8, {3}},
      {OperatorId::conv, "OHWI", {8, 3, 5, 4}, 4, 8, {3, 5}},
      {OperatorId::conv, "OHWI", {8, 3, 4}, 4, 8, {3}},
      {OperatorId::conv, "1HWO", {1, 3, 5, 8}, 1, 8, {3, 5}},
      {OperatorId::conv_transpose, "", {4, 8, 3, 5}, 4, 8, {3, 5}},
      {OperatorId::conv_transpose, "IOHW", {4, 8, 3}, 4, 8, {3}},
      {OperatorId::conv_transpose, "HWOI", {3, 5, 8, 4}, 4, 8, {3, 5}},
      {OperatorId::conv_transpose, "OHWI", {8, 3, 5, 4}, 4, 8, {3, 5}},
      {OperatorId::conv_transpose, "HWIM", {3, 5, 4, 2}, 4, 2, {3, 5}},
  };
  for (const FilterCase& row : cases) {
    SCOPED_TRACE(row.order);
    const Filter filter = filter_of(row.op, row.order.empty() ? kFirst : with("filter", row.order), row.weight);
    EXPECT_EQ(filter.in, row.in);
    EXPECT_EQ(filter.out, row.out);
    EXPECT_EQ(filter.window, row.window);
  }
}

TEST(Layout, RefusesOtherFilters) {
  const auto wrong = [](const std::string& order, const Shape& weight) {
    return testing::message_of<ShapeError>([&] { (void)filter_of(OperatorId::conv, with("filter", order), weight); });
  };
  EXPECT_NE(wrong("HWIQ", {3, 3, 4, 8}).find("did you mean 'HWI"), std::string::npos) << wrong("HWIQ", {3, 3, 4, 8});
  EXPECT_NE(wrong("HWIO", {4, 8}).find("[4, 8]"), std::string::npos);
  const std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_NE(wrong("HWIM", {3, 3, huge, huge}).find("2^63"), std::string::npos);
}

}  // namespace
}  // namespace latpred
