#include "latpred/json.h"

#include <gtest/gtest.h>

#include <string>

#include "latpred/error.h"

namespace latpred {
namespace {

std::string message_of(std::string_view text, const JsonLimits& limits = {}) {
  try {
    (void)parse_json(text, limits);
  } catch (const ModelFileError& error) {
    EXPECT_GE(error.data().offset, 0);
    return error.what();
  }
  return "accepted";
}

TEST(Json, ReadsEveryKind) {
  const Json json = parse_json(R"( {"a": [1, -2.5e3, true, false, null], "b": {"c": "x\n\u00e9\ud83d\ude00"}} )");
  const Json::Array& a = json.at("a").array();
  ASSERT_EQ(a.size(), 5U);
  EXPECT_EQ(a[0].integer(), 1);
  EXPECT_EQ(a[0].number(), 1.0);
  EXPECT_EQ(a[1].number(), -2500.0);
  EXPECT_TRUE(a[2].boolean());
  EXPECT_FALSE(a[3].boolean());
  EXPECT_TRUE(a[4].is_null());
  EXPECT_EQ(json.at("b").at("c").text(), "x\n\xc3\xa9\xf0\x9f\x98\x80");
  EXPECT_EQ(json.find("z"), nullptr);
}

TEST(Json, KeepsTheOrderOfKeysAndLargeIntegers) {
  const Json json = parse_json(R"({"z": 9223372036854775807, "a": 9223372036854775808})");
  EXPECT_EQ(json.object()[0].first, "z");
  EXPECT_EQ(json.at("z").integer(), INT64_MAX);
  EXPECT_DOUBLE_EQ(json.at("a").number(), 9223372036854775808.0);
}

TEST(Json, RefusesWhatTheStandardRefuses) {
  for (const std::string_view text : {"",
                                      " ",
                                      "{",
                                      "[1,]",
                                      "{\"a\":1,}",
                                      "{a:1}",
                                      "01",
                                      "1.",
                                      ".5",
                                      "+1",
                                      "1e",
                                      "nul",
                                      "truex",
                                      "[1] 2",
                                      "\"\x01\"",
                                      "\"\\x\"",
                                      "\"\\ud800\"",
                                      "\"\\udc00\"",
                                      "\"\\ud800\\u0041\"",
                                      "\"abc",
                                      "NaN",
                                      "Infinity",
                                      "1e999",
                                      "-",
                                      "\"\xff\"",
                                      "\"\xc0\x80\"",
                                      "\"\xed\xa0\x80\"",
                                      "{\"a\":1,\"a\":2}",
                                      "// no\n1",
                                      "[1 2]",
                                      "'a'"}) {
    EXPECT_NE(message_of(text), "accepted") << text;
  }
}

TEST(Json, SaysWhereAndWhat) {
  EXPECT_EQ(message_of("[1, x]"), "not valid JSON at byte 4: found 'x', expected a value");
  EXPECT_EQ(message_of("{\"a\": 1"), "not valid JSON at byte 7: found the end of the text, expected ',' or '}'");
  EXPECT_NE(message_of(R"({"k": 1, "k": 2})").find("key 'k' twice"), std::string::npos);
}

TEST(Json, LimitsDepth) {
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  EXPECT_NE(message_of(deep).find("more than 64 arrays and objects"), std::string::npos);
  EXPECT_EQ(message_of(deep, {.max_depth = 100}), "accepted");
}

TEST(Json, LimitsTheMemoryOfOneArray) {
  constexpr std::size_t kEnough = 800'000;
  std::string text = "[0";
  for (std::size_t i = 1; i < kEnough; ++i) text += ",0";
  EXPECT_NE(message_of(text + "]").find("values in one array"), std::string::npos);
  std::string longer = "[1000000000";
  for (std::size_t i = 1; i < kEnough; ++i) longer += ",1000000000";
  EXPECT_EQ(parse_json(longer + "]").array().size(), kEnough);
}

TEST(Json, EveryPrefixOfADocumentIsRefused) {
  const std::string text = R"({"a": [1.5e+3, "\u00e9", {"b": null}], "c": true})";
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_NE(message_of(std::string_view(text).substr(0, size)), "accepted") << size;
  }
}

TEST(Json, AccessorsNameWhatTheyFound) {
  const Json json = parse_json(R"({"a": 1.5})");
  try {
    (void)json.at("a").integer();
    FAIL();
  } catch (const ModelFileError& error) {
    EXPECT_STREQ(error.what(), "JSON: found number where an integer was expected");
  }
  try {
    (void)json.at("b");
    FAIL();
  } catch (const ModelFileError& error) {
    EXPECT_STREQ(error.what(), "JSON: key 'b' is missing; found: a");
  }
}

}  // namespace
}  // namespace latpred
