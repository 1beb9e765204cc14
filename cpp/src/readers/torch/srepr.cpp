#include "readers/torch/srepr.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <vector>

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred::readers {
namespace {

constexpr int kMaxDepth = 24;                  // what shapes/expression.cpp takes, with room
constexpr std::size_t kMaxResultSize = 4096;   // sizes have a few dozen characters
constexpr std::int64_t kMaxExponent = 8;       // more than the rank of any tensor whose size it could be
constexpr std::size_t kMaxQuotedLength = 200;  // of an expression in a message

enum class Form { infix, call, power };

struct FunctionRow {
  std::string_view name;
  Form form;
  std::string_view text;  // between the operands, or the function's name
  std::size_t max_operands;
};

constexpr std::size_t kAnyNumber = 1000;
// Sizes are no negative numbers: both remainders are the same.
constexpr FunctionRow kFunctions[] = {
    {"Add", Form::infix, " + ", kAnyNumber},
    {"Mul", Form::infix, " * ", kAnyNumber},
    {"FloorDiv", Form::infix, " // ", 2},
    {"CleanDiv", Form::infix, " // ", 2},
    {"Mod", Form::infix, " % ", 2},
    {"PythonMod", Form::infix, " % ", 2},
    {"Max", Form::call, "max", kAnyNumber},
    {"Min", Form::call, "min", kAnyNumber},
    {"Pow", Form::power, "", 2},
    {"PowByNatural", Form::power, "", 2},
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::string parse() {
    std::string result = expression(0);
    if (position_ != text_.size()) fail("text after its end");
    return result;
  }

 private:
  [[noreturn]] void fail(std::string_view why) const {
    const bool is_long = text_.size() > kMaxQuotedLength;
    throw ModelFileError(concat("the size expression \"", text_.substr(0, kMaxQuotedLength), is_long ? "..." : "",
                                "\" is not understood at character ", position_, ": ", why));
  }
  bool take(std::string_view token) {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
    if (text_.substr(position_, token.size()) != token) return false;
    position_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) fail(concat("expected '", token, "'"));
  }

  std::string_view word() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
    const std::size_t start = position_;
    while (position_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[position_])) != 0 || text_[position_] == '_')) {
      ++position_;
    }
    return text_.substr(start, position_ - start);
  }

  std::string expression(int depth) {
    if (depth > kMaxDepth) fail("nested too deeply");
    const std::size_t start = position_;
    const std::string_view name = word();
    expect("(");
    if (name == "Integer") return integer();
    if (name == "Symbol") return symbol();
    const auto* row = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                   [&](const FunctionRow& one) { return one.name == name; });
    if (row == std::end(kFunctions)) {
      position_ = start;
      fail(concat("no function '", name, "' of integers is known"));
    }
    std::vector<std::string> operands;
    do {
      operands.push_back(expression(depth + 1));
    } while (take(","));
    expect(")");
    if (operands.size() > row->max_operands || operands.size() < std::min<std::size_t>(row->max_operands, 2)) {
      fail(concat(name, " has ", operands.size(), " operands"));
    }
    std::string result = row->form == Form::power
                             ? power(operands)
                             : concat(row->form == Form::call ? row->text : "", "(",
                                      join(operands, row->form == Form::call ? ", " : row->text), ")");
    if (result.size() > kMaxResultSize) fail("too long when written out");
    return result;
  }

  std::string power(const std::vector<std::string>& operands) {
    std::int64_t exponent = -1;
    const std::string& text = operands[1];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
    if (error != std::errc() || end != text.data() + text.size() || exponent < 1 || exponent > kMaxExponent) {
      fail(concat("a power whose exponent is ", text, ", expected 1 to ", kMaxExponent));
    }
    return concat("(", join(std::vector<std::string>(static_cast<std::size_t>(exponent), operands[0]), " * "), ")");
  }

  std::string integer() {
    const std::string_view sign = take("-") ? "-" : "";
    const std::string_view digits = word();
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) fail("expected an integer");
    expect(")");
    return concat(sign, digits);
  }

  std::string symbol() {
    expect("'");
    const std::string_view name = word();
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0) fail("expected a symbol's name");
    expect("'");
    while (take(",")) {  // what sympy assumes of it
      if (word().empty()) fail("expected an assumption");
      expect("=");
      if (word().empty()) fail("expected the assumption's value");
    }
    expect(")");
    return std::string(name);
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace

std::string infix_of_srepr(std::string_view srepr) { return Parser(srepr).parse(); }

}  // namespace latpred::readers
