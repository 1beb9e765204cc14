#include "latpred/json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred {
namespace {

constexpr std::array<std::string_view, 7> kKindNames{"null", "boolean", "integer", "number", "text", "array", "object"};
constexpr std::size_t kMaxKeysListed = 20;
// No array or object may take more than so many times the text's size, and so much besides: a value takes twenty times
// what "0," does.
constexpr std::size_t kMaxGrowth = 4;
constexpr std::size_t kFreeBytes = std::size_t{16} << 20;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
// Stands for itself inside a string.
bool is_plain(char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; }

// Bytes of the well-formed UTF-8 sequence at the start of `text`, 0 where there is none (RFC 3629: no overlong forms,
// no surrogates, nothing above U+10FFFF).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (!follows(1) || !follows(2)) return 0;
    if (first == 0xE0 && byte(1) < 0xA0) return 0;
    return first == 0xED && byte(1) > 0x9F ? 0 : 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (!follows(1) || !follows(2) || !follows(3)) return 0;
    if (first == 0xF0 && byte(1) < 0x90) return 0;
    return first == 0xF4 && byte(1) > 0x8F ? 0 : 4;
  }
  return 0;
}

void append_utf8(std::string& result, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { result += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6));
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3F));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

class Parser {
 public:
  Parser(std::string_view text, const JsonLimits& limits) : text_(text), limits_(limits) {}

  Json parse() {
    Json result = value(0);
    skip_space();
    if (position_ != text_.size()) fail("text after the value", "the end");
    return result;
  }

 private:
  [[noreturn]] void fail(std::string_view found, std::string_view expected) const {
    throw ModelFileError(concat("not valid JSON at byte ", position_, ": found ", found, ", expected ", expected),
                         {.offset = static_cast<std::int64_t>(position_)});
  }
  [[noreturn]] void fail_here(std::string_view expected) const {
    if (position_ >= text_.size()) fail("the end of the text", expected);
    const auto byte = static_cast<unsigned char>(text_[position_]);
    if (byte >= 0x20 && byte < 0x7F) fail(concat("'", text_[position_], "'"), expected);
    fail(concat("byte ", static_cast<int>(byte)), expected);
  }

  void skip_space() {
    while (position_ < text_.size() && is_space(text_[position_])) ++position_;
  }
  [[nodiscard]] char peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }
  bool take(char c) {
    if (position_ >= text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }

  Json value(std::int64_t depth) {
    if (depth > limits_.max_depth) {
      fail(concat("more than ", limits_.max_depth, " arrays and objects inside one another"), "fewer");
    }
    skip_space();
    switch (peek()) {
      case '{':
        return object(depth);
      case '[':
        return array(depth);
      case '"':
        return Json(string());
      case 't':
        return word("true", Json(true));
      case 'f':
        return word("false", Json(false));
      case 'n':
        return word("null", Json());
      default:
        return number();
    }
  }

  Json word(std::string_view name, Json result) {
    if (text_.substr(position_, name.size()) != name) fail_here(concat("'", name, "'"));
    position_ += name.size();
    return result;
  }

  // Room for one value more.
  template <typename T>
  void make_room(std::vector<T>& items) const {
    if (items.size() < items.capacity()) return;
    const std::size_t max_count = (kMaxGrowth * text_.size() + kFreeBytes) / sizeof(T);
    if (items.size() >= max_count) {
      fail(concat("more than ", max_count, " values in one array or object"), "fewer for a text of this size");
    }
    items.reserve(std::min(std::max<std::size_t>(4, 2 * items.size()), max_count));
  }

  Json array(std::int64_t depth) {
    ++position_;
    Json::Array items;
    skip_space();
    if (take(']')) return Json(std::move(items));
    while (true) {
      make_room(items);
      items.push_back(value(depth + 1));
      skip_space();
      if (take(']')) return Json(std::move(items));
      if (!take(',')) fail_here("',' or ']'");
    }
  }

  Json object(std::int64_t depth) {
    ++position_;
    Json::Object members;
    skip_space();
    if (take('}')) return Json(std::move(members));
    while (true) {
      skip_space();
      if (peek() != '"') fail_here("a key in double quotes");
      std::string key = string();
      skip_space();
      if (!take(':')) fail_here("':'");
      skip_space();
      if (peek() == '"' && is_dropped(key)) {
        (void)string();
      } else {
        make_room(members);
        members.emplace_back(std::move(key), value(depth + 1));
      }
      skip_space();
      if (take('}')) break;
      if (!take(',')) fail_here("',' or '}'");
    }
    check_keys(members);
    return Json(std::move(members));
  }

  [[nodiscard]] bool is_dropped(std::string_view key) const {
    return std::find(limits_.dropped_texts.begin(), limits_.dropped_texts.end(), key) != limits_.dropped_texts.end();
  }

  void check_keys(const Json::Object& members) const {
    std::vector<std::string_view> keys;
    keys.reserve(members.size());
    for (const auto& [key, unused] : members) keys.emplace_back(key);
    std::sort(keys.begin(), keys.end());
    const auto twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice != keys.end()) fail(concat("key '", *twice, "' twice in one object"), "every key once");
  }

  std::uint32_t hex4() {
    std::uint32_t code = 0;
    for (int i = 0; i < 4; ++i, ++position_) {
      const char c = peek();
      if (is_digit(c)) {
        code = code * 16 + static_cast<std::uint32_t>(c - '0');
      } else if (c >= 'a' && c <= 'f') {
        code = code * 16 + static_cast<std::uint32_t>(c - 'a' + 10);
      } else if (c >= 'A' && c <= 'F') {
        code = code * 16 + static_cast<std::uint32_t>(c - 'A' + 10);
      } else {
        fail_here("four hexadecimal digits after \\u");
      }
    }
    return code;
  }

  void escape(std::string& result) {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    const char letter = peek();
    const std::size_t index = position_ < text_.size() ? kLetters.find(letter) : std::string_view::npos;
    if (index != std::string_view::npos) {
      ++position_;
      result += kMeanings[index];
      return;
    }
    if (!take('u')) fail_here("one of \" \\ / b f n r t u after a backslash");
    std::uint32_t code = hex4();
    if (code >= 0xDC00 && code <= 0xDFFF) fail("the second half of a surrogate pair alone", "a character");
    if (code >= 0xD800 && code <= 0xDBFF) {
      if (!take('\\') || !take('u')) fail_here("the second half of a surrogate pair");
      const std::uint32_t low = hex4();
      if (low < 0xDC00 || low > 0xDFFF) fail("another character", "the second half of a surrogate pair");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    append_utf8(result, code);
  }

  std::string string() {
    ++position_;
    std::string result;
    while (true) {
      if (position_ >= text_.size()) fail("the end of the text", "'\"'");
      if (take('"')) return result;
      if (take('\\')) {
        escape(result);
        continue;
      }
      const std::size_t start = position_;
      while (position_ < text_.size() && is_plain(text_[position_])) ++position_;
      if (position_ > start) {
        result += text_.substr(start, position_ - start);
        continue;
      }
      if (static_cast<unsigned char>(text_[position_]) < 0x20) fail_here("control characters written as \\u00XX");
      const std::size_t length = utf8_length(text_.substr(position_, 4));
      if (length == 0) fail_here("UTF-8");
      result += text_.substr(position_, length);
      position_ += length;
    }
  }

  void digits() {
    if (!is_digit(peek())) fail_here("a digit");
    while (is_digit(peek())) ++position_;
  }

  Json number() {
    const std::size_t start = position_;
    if (!take('-') && !is_digit(peek())) fail_here("a value");
    if (!take('0')) digits();
    bool is_integer = true;
    if (take('.')) {
      is_integer = false;
      digits();
    }
    if (peek() == 'e' || peek() == 'E') {
      is_integer = false;
      ++position_;
      if (!take('+')) take('-');
      digits();
    }
    const char* first = text_.data() + start;
    const char* last = text_.data() + position_;
    if (is_integer) {
      std::int64_t result = 0;
      if (std::from_chars(first, last, result).ec == std::errc()) return Json(result);
    }
    double result = 0;
    const auto [end, error] = std::from_chars(first, last, result);
    if (error != std::errc() || end != last) {
      position_ = start;
      fail(concat("the number ", text_.substr(start, std::min<std::size_t>(last - first, 40))),
           "one that a float64 holds");
    }
    return Json(result);
  }

  std::string_view text_;
  JsonLimits limits_;
  std::size_t position_ = 0;
};

}  // namespace

std::string_view Json::kind_name() const { return kKindNames.at(value_.index()); }

template <typename T>
const T& Json::get(std::string_view expected) const {
  if (const T* value = std::get_if<T>(&value_)) return *value;
  throw ModelFileError(concat("JSON: found ", kind_name(), " where ", expected, " was expected"));
}

bool Json::boolean() const { return get<bool>("a boolean"); }
std::int64_t Json::integer() const { return get<std::int64_t>("an integer"); }
const std::string& Json::text() const { return get<std::string>("text"); }
const Json::Array& Json::array() const { return get<Array>("an array"); }
const Json::Object& Json::object() const { return get<Object>("an object"); }

double Json::number() const {
  if (const auto* integer = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*integer);
  return get<double>("a number");
}

const Json* Json::find(std::string_view key) const {
  for (const auto& [name, value] : object()) {
    if (name == key) return &value;
  }
  return nullptr;
}

const Json& Json::at(std::string_view key) const {
  if (const Json* value = find(key)) return *value;
  std::vector<std::string> keys;
  for (const auto& [name, unused] : object()) {
    if (keys.size() < kMaxKeysListed) keys.push_back(name);
  }
  throw ModelFileError(concat("JSON: key '", key, "' is missing; found: ", keys.empty() ? "no keys" : join(keys)));
}

Json parse_json(std::string_view text, const JsonLimits& limits) { return Parser(text, limits).parse(); }

}  // namespace latpred
