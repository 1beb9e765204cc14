#include "latpred/criterion.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <map>
#include <numbers>
#include <string>

#include "latpred/error.h"
#include "latpred/statistics.h"
#include "latpred/text.h"

namespace latpred {
namespace {

// The relative-standard-deviation and entropy criteria are nvbench's (stdrel_criterion, entropy_criterion), with its
// constants where nothing else is said.

class Count : public Criterion {
 public:
  explicit Count(double threshold) : wanted_(threshold) {}
  void add(double /*time_s*/) override { ++count_; }
  [[nodiscard]] bool is_satisfied() const override { return static_cast<double>(count_) >= wanted_; }

 private:
  double wanted_;
  std::int64_t count_ = 0;
};

// Standard deviation over mean of numbers that arrive one by one (Welford).
class RunningSpread {
 public:
  void add(double value) {
    ++count_;
    const double delta = value - mean_;
    mean_ += delta / static_cast<double>(count_);
    squares_ += delta * (value - mean_);
  }
  [[nodiscard]] std::int64_t count() const { return count_; }
  // Not a number before the second value.
  [[nodiscard]] double relative() const { return std::sqrt(squares_ / static_cast<double>(count_ - 1)) / mean_; }

 private:
  std::int64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

class RelativeStandardDeviation : public Criterion {
 public:
  explicit RelativeStandardDeviation(double threshold) : threshold_(threshold) {}

  void add(double time_s) override {
    times_.add(time_s);
    if (times_.count() < kFewest) return;
    noises_.push_back(times_.relative());
    if (noises_.size() > kNoiseWindow) noises_.pop_front();
  }

  [[nodiscard]] bool is_satisfied() const override {
    if (noises_.empty()) return false;
    if (noises_.back() < threshold_) return true;
    // More samples change nothing any more: the spread is the workload's own.
    if (noises_.size() <= kFewestNoises || times_.count() % kCheckEvery != 0) return false;
    RunningSpread spread;
    for (const double noise : noises_) spread.add(noise);
    return spread.relative() < kSettledNoise;
  }

 private:
  static constexpr std::int64_t kFewest = 5;  // a spread of fewer says nothing
  static constexpr std::size_t kNoiseWindow = 512;
  static constexpr std::size_t kFewestNoises = 64;
  static constexpr std::int64_t kCheckEvery = 16;
  static constexpr double kSettledNoise = 0.05;

  double threshold_;
  RunningSpread times_;
  std::deque<double> noises_;
};

// Enough when new samples bring nothing new: Shannon entropy of the times seen, as a function of their number, has
// become flat.
class Entropy : public Criterion {
 public:
  explicit Entropy(double threshold) : largest_angle_(threshold) {}

  void add(double time_s) override {
    // nvbench counts equal values: events tick in half microseconds. A host's clock ticks in nanoseconds, so that all
    // values differ; here those within one step are equal.
    ++counts_[static_cast<std::int64_t>(std::floor(std::log(std::max(time_s, kShortest)) / std::log1p(kStep)))];
    ++total_;
    double entropy = 0;
    for (const auto& [bin, count] : counts_) {
      const double share = static_cast<double>(count) / static_cast<double>(total_);
      entropy -= share * std::log2(share);
    }
    entropies_.push_back(entropy);
    if (entropies_.size() > kWindow) entropies_.pop_front();
  }

  [[nodiscard]] bool is_satisfied() const override {
    if (total_ < kFewest || total_ % 2 != 0) return false;
    // Least squares of entropy over sample number.
    const auto n = static_cast<double>(entropies_.size());
    const double x_mean = (n - 1) / 2;
    double y_mean = 0;
    for (const double y : entropies_) y_mean += y / n;
    double xx = 0;
    double xy = 0;
    double yy = 0;
    double x = 0;
    for (const double y : entropies_) {
      xx += (x - x_mean) * (x - x_mean);
      xy += (x - x_mean) * (y - y_mean);
      yy += (y - y_mean) * (y - y_mean);
      ++x;
    }
    const double angle = std::atan(std::abs(xy / xx)) * 180 / std::numbers::pi;
    if (angle > largest_angle_) return false;
    // A line without slope explains nothing, however near the values are to it: there their distance decides, which
    // nvbench does not ask for.
    const double distance = std::sqrt(std::max(0.0, yy - xy * xy / xx) / n);
    return distance <= kSmallDistance || xy * xy >= kSmallestExplained * xx * yy;
  }

 private:
  static constexpr double kShortest = 1e-12;
  static constexpr double kStep = 0.005;  // the relative spread that nvbench's other criterion asks for
  static constexpr std::size_t kWindow = 299;
  static constexpr std::int64_t kFewest = 10;
  static constexpr double kSmallestExplained = 0.36;
  static constexpr double kSmallDistance = 0.05;  // bits

  double largest_angle_;
  std::int64_t total_ = 0;
  std::map<std::int64_t, std::int64_t> counts_;
  std::deque<double> entropies_;
};

template <typename T>
std::unique_ptr<Criterion> make(double threshold) {
  return std::make_unique<T>(threshold);
}

}  // namespace

const std::vector<CriterionRow>& criteria() {
  static const std::vector<CriterionRow> rows{
      {"count", "a fixed number of samples", 5, "samples", &make<Count>},
      {"relative_standard_deviation",
       "the standard deviation over the mean is below the threshold, or does not change any more", 0.01,
       "standard deviation over mean", &make<RelativeStandardDeviation>},
      {"entropy", "the entropy of the times does not grow any more", 0.048, "degrees of slope, in bits per sample",
       &make<Entropy>},
  };
  return rows;
}

const CriterionRow& criterion_row(std::string_view name) {
  std::vector<std::string> valid;
  for (const CriterionRow& row : criteria()) {
    if (row.name == name) return row;
    valid.emplace_back(row.name);
  }
  throw InvalidArgumentError(unknown_name_message("stopping criterion", name, valid), {.valid = valid});
}

}  // namespace latpred
