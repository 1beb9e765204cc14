#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace latpred {

struct JsonLimits {
  std::int64_t max_depth = 64;  // arrays and objects inside one another: a guard against text made to exhaust us
  // Members of objects with these keys are checked but not kept where they are text: source lines and call stacks are
  // most of what some documents hold.
  std::span<const std::string_view> dropped_texts;
};

// One JSON value. Accessors throw ModelFileError naming what was found where another kind was expected.
class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;  // in the text's order; every key once

  Json() = default;
  explicit Json(bool value) : value_(value) {}
  explicit Json(std::int64_t value) : value_(value) {}
  explicit Json(double value) : value_(value) {}
  explicit Json(std::string value) : value_(std::move(value)) {}
  explicit Json(Array value) : value_(std::move(value)) {}
  explicit Json(Object value) : value_(std::move(value)) {}

  [[nodiscard]] bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  [[nodiscard]] bool is_boolean() const { return std::holds_alternative<bool>(value_); }
  [[nodiscard]] bool is_integer() const { return std::holds_alternative<std::int64_t>(value_); }
  [[nodiscard]] bool is_array() const { return std::holds_alternative<Array>(value_); }
  [[nodiscard]] bool is_object() const { return std::holds_alternative<Object>(value_); }
  [[nodiscard]] bool is_number() const { return is_integer() || std::holds_alternative<double>(value_); }
  [[nodiscard]] bool is_text() const { return std::holds_alternative<std::string>(value_); }
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] std::int64_t integer() const;  // a number written without fraction or exponent
  [[nodiscard]] double number() const;         // any number
  [[nodiscard]] const std::string& text() const;
  [[nodiscard]] const Array& array() const;
  [[nodiscard]] const Object& object() const;

  // Member `key` of an object: nullptr, or an error that lists the keys, where it is missing. A linear search.
  [[nodiscard]] const Json* find(std::string_view key) const;
  [[nodiscard]] const Json& at(std::string_view key) const;

 private:
  [[nodiscard]] std::string_view kind_name() const;
  template <typename T>
  [[nodiscard]] const T& get(std::string_view expected) const;

  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> value_;
};

// Reads `text` as RFC 8259 says and no looser: one value, UTF-8, no comments, no trailing commas, no key twice.
// Throws ModelFileError with the offset.
[[nodiscard]] Json parse_json(std::string_view text, const JsonLimits& limits = {});

}  // namespace latpred
