#include "readers/torch/srepr.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "latpred/error.h"
#include "message_of.h"
#include "shapes/inputs.h"

namespace latpred::readers {
namespace {

using testing::message_of;

std::int64_t value_of(std::string_view srepr, const std::map<std::string, std::int64_t>& symbols) {
  const auto value = shapes::evaluate(infix_of_srepr(srepr), symbols);
  EXPECT_TRUE(value.has_value()) << srepr;
  return value.value_or(-1);
}

TEST(Srepr, WritesWhatTheShapeEngineEvaluates) {
  const std::string s77 = "Symbol('s77', positive=True, integer=True)";
  const std::string s3 = "Symbol('s3')";
  const std::map<std::string, std::int64_t> symbols{{"s77", 7}, {"s3", 3}};
  EXPECT_EQ(infix_of_srepr("Mul(Integer(4), " + s77 + ")"), "(4 * s77)");
  EXPECT_EQ(value_of(s77, symbols), 7);
  EXPECT_EQ(value_of("Integer(-12)", symbols), -12);
  EXPECT_EQ(value_of("Add(FloorDiv(Add(" + s77 + ", Integer(-1)), Integer(2)), Integer(1))", symbols), 4);
  EXPECT_EQ(value_of("Add(Mul(Integer(2), " + s77 + ", " + s3 + "), Mul(Integer(-1), " + s3 + "))", symbols), 39);
  EXPECT_EQ(value_of("Mod(" + s77 + ", Integer(4))", symbols), 3);
  EXPECT_EQ(value_of("PythonMod(" + s77 + ", Integer(4))", symbols), 3);
  EXPECT_EQ(value_of("CleanDiv(Mul(" + s77 + ", " + s3 + "), " + s3 + ")", symbols), 7);
  EXPECT_EQ(value_of("Max(Integer(1), " + s77 + ", " + s3 + ")", symbols), 7);
  EXPECT_EQ(value_of("Min(" + s77 + ", Integer(5))", symbols), 5);
  EXPECT_EQ(value_of("Pow(" + s77 + ", Integer(2))", symbols), 49);
  EXPECT_EQ(value_of("PowByNatural(Add(" + s3 + ", Integer(1)), Integer(3))", symbols), 64);
}

// -2^63, whose negative no 64 bits hold, and sums that pass 2^63 on the way.
TEST(Srepr, EvaluatesUpToTheLargestSizes) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::map<std::string, std::int64_t> symbols{{"least", std::numeric_limits<std::int64_t>::min()},
                                                    {"most", kMost}};
  EXPECT_EQ(shapes::evaluate("-least", symbols), std::nullopt);
  EXPECT_EQ(shapes::evaluate("(most - 1) % most", symbols), kMost - 1);
  EXPECT_EQ(shapes::evaluate("least // 3", symbols), -3'074'457'345'618'258'603);
  EXPECT_EQ(shapes::evaluate("least % 3", symbols), 1);
  EXPECT_EQ(shapes::evaluate("(0 - 7) // 2", symbols), -4);
  EXPECT_EQ(shapes::evaluate("(0 - 8) // 2", symbols), -4);
  EXPECT_EQ(shapes::evaluate("(0 - 7) % 2", symbols), 1);
}

TEST(Srepr, RefusesEverythingElseWithItsText) {
  const auto refusal = [](std::string_view text) {
    return message_of<ModelFileError>([&] { (void)infix_of_srepr(text); });
  };
  EXPECT_EQ(refusal("ceiling(Symbol('s0'))"),
            "the size expression \"ceiling(Symbol('s0'))\" is not understood at character 0: no function 'ceiling' of "
            "integers is known");
  EXPECT_NE(refusal("Mul(Rational(1, 2), Symbol('s0'))").find("no function 'Rational'"), std::string::npos);
  EXPECT_NE(refusal("Pow(Symbol('s0'), Integer(-1))").find("a power whose exponent is -1"), std::string::npos);
  EXPECT_NE(refusal("Pow(Symbol('s0'), Symbol('s0'))").find("a power whose exponent is s0"), std::string::npos);
  EXPECT_NE(refusal("FloorDiv(Symbol('s0'))").find("FloorDiv has 1 operands"), std::string::npos);
  EXPECT_NE(refusal("Mod(Integer(1), Integer(2), Integer(3))").find("Mod has 3 operands"), std::string::npos);
  EXPECT_NE(refusal("Integer(1) + 2").find("text after its end"), std::string::npos);
  EXPECT_NE(refusal("Integer(x)").find("expected an integer"), std::string::npos);
  EXPECT_NE(refusal("Symbol('2')").find("expected a symbol's name"), std::string::npos);
  for (const std::string_view cut : {"", "Add", "Add(", "Add(Integer(1)", "Symbol('s0", "Symbol('s0', integer"}) {
    EXPECT_NE(refusal(cut).find("is not understood"), std::string::npos) << cut;
  }
}

TEST(Srepr, RefusesTextsMadeToExhaust) {
  std::string deep = "Integer(1)";
  for (int i = 0; i < 100; ++i) deep = "Max(" + deep + ", Integer(1))";
  EXPECT_NE(message_of<ModelFileError>([&] { (void)infix_of_srepr(deep); }).find("nested too deeply"),
            std::string::npos);
  std::string power = "Symbol('s0')";
  for (int i = 0; i < 12; ++i) power = "Pow(" + power + ", Integer(8))";
  const std::string message = message_of<ModelFileError>([&] { (void)infix_of_srepr(power); });
  EXPECT_NE(message.find("too long when written out"), std::string::npos);
  EXPECT_LT(message.size(), 400U);
}

}  // namespace
}  // namespace latpred::readers
