#pragma once

#include <string>
#include <vector>

namespace latpred {

// Loss of one residual (predicted - true, scaled) and its derivative.
struct LossRow {
  const char* name;
  double (*value)(double residual, double delta);
  double (*slope)(double residual, double delta);
};
[[nodiscard]] const LossRow& loss_row(const std::string& name);
[[nodiscard]] std::vector<std::string> loss_names();

}  // namespace latpred
