#pragma once

#include <cstdint>
#include <vector>

#include "latpred/checkpoint.h"

namespace latpred {

// Small perceptrons with SiLU between their layers, fitted on the same columns; plain loops, double numbers.
class MlpEnsemble {
 public:
  MlpEnsemble() = default;
  // Reads "input_mean" and "input_deviation" [E, F], "weight_0" [E, H, F], "bias_0" [E, H], "weight_1", ...
  // `widths`: columns, hidden layers, outputs. An output stays inside +- its bound: b tanh(x / b).
  MlpEnsemble(const Checkpoint& checkpoint, std::int64_t num_members, const std::vector<std::int64_t>& widths,
              std::vector<double> bounds);

  // `columns`: [F]. Writes [O].
  void mean_output(const double* columns, double* mean) const;

 private:
  struct Layer {
    std::size_t inputs = 0;
    std::size_t outputs = 0;
    std::vector<double> weight;  // [inputs, outputs]: the inner loop runs over outputs, side by side in memory
    std::vector<double> bias;    // [outputs]
  };
  using Member = std::vector<Layer>;
  std::vector<Member> members_;
  std::vector<double> bounds_;  // [O]
};

}  // namespace latpred
