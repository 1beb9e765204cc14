#include "latpred/text.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

namespace latpred {
namespace {

std::string lowered(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

// Insertions, deletions, replacements and swaps of neighbours, one each.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last;
  std::vector<std::size_t> last(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::vector<std::size_t> row(b.size() + 1, i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = std::exchange(last, std::move(row));
  }
  return last[b.size()];
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

namespace {

std::string without_separators(std::string text) {
  std::erase_if(text, [](char letter) { return letter == ' ' || letter == '-' || letter == '_'; });
  return text;
}

}  // namespace

std::string nearest(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string wanted = lowered(name);
  std::string best;
  // A third of the letters may be wrong: further away a suggestion misleads more than it helps.
  std::size_t best_distance = std::max<std::size_t>(1, wanted.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::string lowered_candidate = lowered(candidate);
    std::size_t distance = edit_distance(wanted, lowered_candidate);
    const bool begins = without_separators(lowered_candidate).starts_with(without_separators(wanted));
    if (!wanted.empty() && begins) distance = std::min<std::size_t>(distance, 1);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string unknown_name_message(std::string_view what, std::string_view name, const std::vector<std::string>& valid) {
  const std::string suggestion = nearest(name, valid);
  std::string message = concat("unknown ", what, " '", name, "'");
  if (!suggestion.empty()) message += concat("; did you mean '", suggestion, "'?");
  return message + concat(suggestion.empty() ? "; valid: " : " Valid: ", join(valid));
}

}  // namespace latpred
