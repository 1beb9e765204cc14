#include "latpred/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred {
namespace {

// As kMadToSigma, for the mean of the absolute deviations: sqrt(pi / 2).
constexpr double kMeanDeviationToSigma = 1.2533141373155003;

void check(const std::vector<double>& values) {
  if (values.empty()) throw InvalidArgumentError("statistics need at least one time, got none");
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      throw InvalidArgumentError(concat("statistics need finite times; time ", i, " is ", values[i]));
    }
  }
}

double sorted_quantile(const std::vector<double>& sorted, double share) {
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  if (below + 1 >= sorted.size()) return sorted.back();
  const double part = position - static_cast<double>(below);
  return sorted[below] + part * (sorted[below + 1] - sorted[below]);
}

std::vector<double> sorted_copy(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values;
}

std::vector<double> deviations(const std::vector<double>& values, double center) {
  std::vector<double> result;
  result.reserve(values.size());
  for (const double value : values) result.push_back(std::abs(value - center));
  return result;
}

}  // namespace

double mean(const std::vector<double>& values) {
  check(values);
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double quantile(const std::vector<double>& values, double share) {
  check(values);
  if (!(share >= 0 && share <= 1)) throw InvalidArgumentError(concat("a quantile's share is 0 to 1, got ", share));
  return sorted_quantile(sorted_copy(values), share);
}

double median(const std::vector<double>& values) { return quantile(values, 0.5); }

double median_absolute_deviation(const std::vector<double>& values) {
  return median(deviations(values, median(values)));
}

std::optional<double> standard_deviation(const std::vector<double>& values) {
  const double center = mean(values);
  if (values.size() < 2) return std::nullopt;
  double sum = 0;
  for (const double value : values) sum += (value - center) * (value - center);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

std::vector<bool> outliers(const std::vector<double>& values) {
  const std::vector<double> distances = deviations(values, median(values));
  double sigma = kMadToSigma * median(distances);
  if (sigma == 0) sigma = kMeanDeviationToSigma * mean(distances);
  std::vector<bool> result;
  result.reserve(values.size());
  for (const double distance : distances) result.push_back(distance > kOutlierScore * sigma);
  return result;
}

Statistics statistics(const std::vector<double>& values) {
  check(values);
  const std::vector<double> sorted = sorted_copy(values);
  Statistics result;
  result.count = static_cast<std::int64_t>(values.size());
  result.min = sorted.front();
  result.max = sorted.back();
  result.mean = mean(values);
  result.median = sorted_quantile(sorted, 0.5);
  result.p05 = sorted_quantile(sorted, 0.05);
  result.p25 = sorted_quantile(sorted, 0.25);
  result.p75 = sorted_quantile(sorted, 0.75);
  result.p95 = sorted_quantile(sorted, 0.95);
  result.median_absolute_deviation = median(deviations(values, result.median));
  if (result.median > 0) result.noise = kMadToSigma * result.median_absolute_deviation / result.median;
  const std::vector<bool> is_outlier = outliers(values);
  result.outliers = std::count(is_outlier.begin(), is_outlier.end(), true);
  result.standard_deviation = standard_deviation(values);
  if (result.standard_deviation && result.mean > 0) {
    result.coefficient_of_variation = *result.standard_deviation / result.mean;
  }
  return result;
}

}  // namespace latpred
