#include <cctype>
#include <string_view>

#include "shapes/inputs.h"

namespace latpred::shapes {
namespace {

constexpr int kMaxDepth = 32;

// A recursive-descent reader of the size expressions that exporters write: + - * / // % floor-wise, parentheses,
// max(a, b), min(a, b), numbers and symbols.
class Expression {
 public:
  Expression(std::string_view text, const std::map<std::string, std::int64_t>& symbols)
      : text_(text), symbols_(symbols) {}

  std::optional<std::int64_t> value() {
    const auto result = sum(0);
    skip_spaces();
    return position_ == text_.size() ? result : std::nullopt;
  }

 private:
  using Number = std::optional<std::int64_t>;

  void skip_spaces() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  }
  bool take(std::string_view token) {
    skip_spaces();
    if (text_.substr(position_, token.size()) != token) return false;
    position_ += token.size();
    return true;
  }

  Number sum(int depth) {
    Number left = product(depth);
    while (left) {
      const bool plus = take("+");
      if (!plus && !take("-")) break;
      const Number right = product(depth);
      std::int64_t result = 0;
      if (!right ||
          (plus ? __builtin_add_overflow(*left, *right, &result) : __builtin_sub_overflow(*left, *right, &result))) {
        return std::nullopt;
      }
      left = result;
    }
    return left;
  }

  Number product(int depth) {
    Number left = atom(depth);
    while (left) {
      const bool times = take("*");
      const bool over = !times && (take("//") || take("/"));
      const bool modulo = !times && !over && take("%");
      if (!times && !over && !modulo) break;
      const Number right = atom(depth);
      if (!right) return std::nullopt;
      if (times) {
        std::int64_t result = 0;
        if (__builtin_mul_overflow(*left, *right, &result)) return std::nullopt;
        left = result;
      } else {
        if (*right <= 0) return std::nullopt;
        std::int64_t quotient = *left / *right;
        std::int64_t remainder = *left % *right;
        if (remainder < 0) {
          remainder += *right;
          --quotient;
        }
        left = over ? quotient : remainder;
      }
    }
    return left;
  }

  Number atom(int depth) {
    if (depth > kMaxDepth) return std::nullopt;
    if (take("-")) {
      const Number value = atom(depth + 1);
      std::int64_t result = 0;
      return value && !__builtin_sub_overflow(std::int64_t{0}, *value, &result) ? Number(result) : std::nullopt;
    }
    if (take("(")) {
      const Number value = sum(depth + 1);
      return take(")") ? value : std::nullopt;
    }
    skip_spaces();
    const std::size_t start = position_;
    while (position_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[position_])) != 0 ||
                                        text_[position_] == '_' || text_[position_] == '.')) {
      ++position_;
    }
    const std::string word(text_.substr(start, position_ - start));
    if (word.empty()) return std::nullopt;
    if (word == "max" || word == "min" || word == "Max" || word == "Min") return extremum(word[1] == 'a', depth);
    if (word.find_first_not_of("0123456789") != std::string::npos) {
      const auto found = symbols_.find(word);
      return found == symbols_.end() ? std::nullopt : Number(found->second);
    }
    constexpr std::size_t kMaxDigits = 18;  // below 2^63
    return word.size() > kMaxDigits ? std::nullopt : Number(std::stoll(word));
  }

  Number extremum(bool is_max, int depth) {
    if (!take("(")) return std::nullopt;
    Number result = sum(depth + 1);
    while (result && take(",")) {
      const Number next = sum(depth + 1);
      if (!next) return std::nullopt;
      result = is_max ? std::max(*result, *next) : std::min(*result, *next);
    }
    return take(")") ? result : std::nullopt;
  }

  std::string_view text_;
  const std::map<std::string, std::int64_t>& symbols_;
  std::size_t position_ = 0;
};

}  // namespace

std::optional<std::int64_t> evaluate(const std::string& expression,
                                     const std::map<std::string, std::int64_t>& symbols) {
  if (expression.empty()) return std::nullopt;
  const auto found = symbols.find(expression);  // a symbol may be spelled like an expression
  if (found != symbols.end()) return found->second;
  return Expression(expression, symbols).value();
}

}  // namespace latpred::shapes
