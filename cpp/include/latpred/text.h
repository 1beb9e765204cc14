#pragma once

#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace latpred {

// Joins anything printable into one string: concat("batch must be >= 1, got ", n).
template <typename... Parts>
[[nodiscard]] std::string concat(const Parts&... parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  return stream.str();
}

// "a, b, c"
[[nodiscard]] std::string join(const std::vector<std::string>& words, std::string_view separator = ", ");

// "[1, 3, 224, 224]"
[[nodiscard]] std::string shape_text(const std::vector<std::int64_t>& shape);

// "1 234 567": thousands apart, as error messages print sizes.
[[nodiscard]] std::string grouped_digits(std::int64_t value);

// The candidate nearest to `name` by edit distance (case ignored), or "" when none is near enough to suggest.
[[nodiscard]] std::string nearest(std::string_view name, const std::vector<std::string>& candidates);

// The message of every failed look-up: "unknown device 'A1000'; did you mean 'A100'? Valid: ...".
[[nodiscard]] std::string unknown_name_message(std::string_view what, std::string_view name,
                                               const std::vector<std::string>& valid);

}  // namespace latpred
