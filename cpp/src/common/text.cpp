#include "latpred/text.h"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace latpred {
namespace {

std::string lowered(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string join(const std::vector<std::string>& words, std::string_view separator) {
  std::string result;
  for (const std::string& word : words) {
    if (!result.empty()) result += separator;
    result += word;
  }
  return result;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::vector<std::string> words;
  words.reserve(shape.size());
  for (const std::int64_t size : shape) words.push_back(std::to_string(size));
  return "[" + join(words) + "]";
}

std::string grouped_digits(std::int64_t value) {
  std::string digits = std::to_string(value);
  const std::size_t first = digits.front() == '-' ? 1 : 0;
  for (std::size_t position = digits.size(); position > first + 3;) {
    position -= 3;
    digits.insert(position, 1, ' ');
  }
  return digits;
}

std::string nearest(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string wanted = lowered(name);
  std::string best;
  // A third of the letters may be wrong: further away a suggestion misleads more than it helps.
  std::size_t best_distance = std::max<std::size_t>(1, wanted.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::string lowered_candidate = lowered(candidate);
    std::size_t distance = edit_distance(wanted, lowered_candidate);
    if (!wanted.empty() && lowered_candidate.starts_with(wanted)) distance = std::min<std::size_t>(distance, 1);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string unknown_name_message(std::string_view what, std::string_view name,
                                 const std::vector<std::string>& valid) {
  const std::string suggestion = nearest(name, valid);
  std::string message = concat("unknown ", what, " '", name, "'");
  if (!suggestion.empty()) message += concat("; did you mean '", suggestion, "'?");
  return message + concat(suggestion.empty() ? "; valid: " : " Valid: ", join(valid));
}

}  // namespace latpred
