#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "training/named_arrays.h"

// What trainers are compared by.
namespace latpred::testing {

inline bool are_equal(const NamedArrays& left, const NamedArrays& right) {
  return std::ranges::equal(left, right, [](const auto& a, const auto& b) {
    return a.first == b.first && a.second.shape == b.second.shape && a.second.values == b.second.values;
  });
}

inline double mean_absolute_log_error(const std::vector<double>& found, const std::vector<double>& expected) {
  double sum = 0;
  for (std::size_t i = 0; i < found.size(); ++i) sum += std::abs(std::log(found[i] / expected[i]));
  return sum / static_cast<double>(found.size());
}

}  // namespace latpred::testing
