#pragma once

#include <memory>
#include <string_view>
#include <vector>

namespace latpred {

// Decides from the times so far whether enough has been measured. It sees numbers only; limits of count and time are
// the Protocol's.
class Criterion {
 public:
  virtual ~Criterion() = default;
  virtual void add(double time_s) = 0;
  [[nodiscard]] virtual bool is_satisfied() const = 0;
};

struct CriterionRow {
  std::string_view name;
  std::string_view description;
  double default_threshold;
  std::string_view threshold_meaning;
  std::unique_ptr<Criterion> (*make)(double threshold);
};

[[nodiscard]] const std::vector<CriterionRow>& criteria();
// Throws InvalidArgumentError with the nearest name and the list.
[[nodiscard]] const CriterionRow& criterion_row(std::string_view name);

}  // namespace latpred
