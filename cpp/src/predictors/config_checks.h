#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "latpred/error.h"
#include "latpred/text.h"

// What configs of predictors are checked by: numbers in range, choices that a table knows.
namespace latpred {

template <typename Rows>
std::vector<std::string> names_of(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(row.name);
  return names;
}

inline double place_of(std::string_view what, const std::string& name, const std::vector<std::string>& names) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw InvalidArgumentError(unknown_name_message(what, name, names));
  return static_cast<double>(found - names.begin());
}

template <typename Rows>
const auto& row_of(std::string_view what, const std::string& name, const Rows& rows) {
  return rows[static_cast<std::size_t>(place_of(what, name, names_of(rows)))];
}

inline void check_at_least(std::string_view name, std::int64_t value, std::int64_t least) {
  if (value < least) throw InvalidArgumentError(concat(name, " must be an integer >= ", least, ", got ", value));
}

inline void check_positive(std::string_view name, double value) {
  if (!(value > 0) || !std::isfinite(value)) {
    throw InvalidArgumentError(concat(name, " must be a number > 0, got ", value));
  }
}

}  // namespace latpred
