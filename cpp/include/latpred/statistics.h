#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace latpred {

// What repeated times say. Seconds in, seconds out; shares are relative to 1. N values.
struct Statistics {
  std::int64_t count = 0;
  double min = 0;
  double max = 0;
  double mean = 0;
  double median = 0;
  double p05 = 0;  // quantiles
  double p25 = 0;
  double p75 = 0;
  double p95 = 0;
  double median_absolute_deviation = 0;
  double noise = 0;                                // robust: kMadToSigma * median absolute deviation / median
  std::int64_t outliers = 0;                       // as outliers() tells them
  std::optional<double> standard_deviation;        // unbiased; nothing for a single value
  std::optional<double> coefficient_of_variation;  // standard deviation over mean
};

// A normal distribution's standard deviation over its median absolute deviation: 1 / quantile(3/4).
inline constexpr double kMadToSigma = 1.4826022185056018;
// Iglewicz and Hoaglin (1993): a value is an outlier when it is further than this many robust standard deviations from
// the median.
inline constexpr double kOutlierScore = 3.5;

// All throw InvalidArgumentError for no values, or for one that is not finite.
[[nodiscard]] Statistics statistics(const std::vector<double>& values);
[[nodiscard]] double mean(const std::vector<double>& values);
[[nodiscard]] double median(const std::vector<double>& values);
// Linear between the two nearest values, as NumPy's default; share in [0, 1].
[[nodiscard]] double quantile(const std::vector<double>& values, double share);
[[nodiscard]] double median_absolute_deviation(const std::vector<double>& values);
// Unbiased; nothing for a single value.
[[nodiscard]] std::optional<double> standard_deviation(const std::vector<double>& values);
// [N] true where kOutlierScore says so. Where more than half of the values are equal, the mean absolute deviation takes
// the place of the median's, which is 0 there.
[[nodiscard]] std::vector<bool> outliers(const std::vector<double>& values);

}  // namespace latpred
