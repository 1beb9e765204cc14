#pragma once

#include <functional>
#include <string_view>
#include <vector>

namespace latpred {

// Workloads whose duration is known beforehand, to check the instrument with.
struct ReferenceWorkload {
  std::string_view name;
  std::string_view description;
  // A function that takes about `seconds` whenever it is called.
  std::function<void()> (*make)(double seconds);
};
[[nodiscard]] const std::vector<ReferenceWorkload>& reference_workloads();
// Throws InvalidArgumentError with the nearest name and the list.
[[nodiscard]] const ReferenceWorkload& reference_workload(std::string_view name);

// One of them, which times itself by a clock of its own: CLOCK_MONOTONIC_RAW, which is never slewed.
class ReferenceRun {
 public:
  ReferenceRun(std::string_view name, double seconds);
  void operator()();

  [[nodiscard]] std::string_view name() const { return name_; }
  [[nodiscard]] const std::vector<double>& times_s() const { return times_s_; }  // of each run so far

 private:
  std::string_view name_;  // of the table
  std::function<void()> run_;
  std::vector<double> times_s_;
};

}  // namespace latpred
