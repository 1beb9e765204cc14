#include "latpred/attributes.h"

#include <gtest/gtest.h>

#include "latpred/error.h"
#include "message_of.h"

namespace latpred {
namespace {

TEST(Attributes, give_their_value_or_the_fallback) {
  Attributes attributes;
  attributes.set("axis", std::int64_t{2});
  attributes.set("epsilon", 1e-5);
  attributes.set("mode", std::string("linear"));
  attributes.set("pads", std::vector<std::int64_t>{1, 2});
  attributes.set("scales", std::vector<double>{0.5});
  EXPECT_EQ(attributes.integer("axis", 0), 2);
  EXPECT_EQ(attributes.integer("group", 1), 1);
  EXPECT_EQ(attributes.real("epsilon", 0), 1e-5);
  EXPECT_EQ(attributes.text("mode", "nearest"), "linear");
  EXPECT_EQ(attributes.integers("pads"), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(attributes.reals("scales"), (std::vector<double>{0.5}));
  EXPECT_TRUE(attributes.integers("strides").empty());
}

TEST(Attributes, setting_again_replaces) {
  Attributes attributes;
  attributes.set("axis", std::int64_t{2});
  attributes.set("axis", std::int64_t{3});
  EXPECT_EQ(attributes.integer("axis", 0), 3);
  EXPECT_EQ(attributes.items().size(), 1U);
}

TEST(Attributes, another_type_is_refused) {
  Attributes attributes;
  attributes.set("axis", 1.5);
  EXPECT_EQ(testing::message_of<ShapeError>([&] { (void)attributes.integer("axis", 0); }),
            "attribute 'axis' is not an integer");
}

}  // namespace
}  // namespace latpred
