#include "latpred/runtime_versions.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace latpred {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::int64_t kFirstContainerYear = 17;

}  // namespace

std::vector<std::int64_t> version_age(std::string_view version) {
  std::vector<std::int64_t> numbers;
  for (std::size_t first = version.find_first_of(kDigits); first != std::string_view::npos;
       first = version.find_first_of(kDigits)) {
    version.remove_prefix(first);
    const std::size_t length = std::min(version.find_first_not_of(kDigits), version.size());
    std::int64_t number = std::numeric_limits<std::int64_t>::max();  // stays where there are too many digits
    std::from_chars(version.data(), version.data() + length, number);
    numbers.push_back(number);
    version.remove_prefix(length);
  }
  if (!numbers.empty() && numbers.front() >= kFirstContainerYear) numbers.insert(numbers.begin(), 0);
  return numbers;
}

std::string_view version_stack(std::string_view version) {
  version = version.substr(0, version.find_first_of("0123456789,"));
  return version.substr(0, version.find_last_not_of(' ') + 1);
}

std::string_view version_standing_for(std::string_view asked, const std::vector<std::string>& measured) {
  const std::vector<std::int64_t> age = version_age(asked);
  std::string_view found;
  for (const std::string& version : measured) {
    const std::vector<std::int64_t> other = version_age(version);
    const bool is_alike = !age.empty() && !other.empty() && other.front() == age.front();
    if (!is_alike || version_stack(version) != version_stack(asked)) continue;
    if (found.empty() || other <= age) found = version;
  }
  return found;
}

}  // namespace latpred
