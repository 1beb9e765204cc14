#pragma once

#include <cstdint>
#include <vector>

#include "batch/net_rows.h"
#include "training/named_arrays.h"

namespace latpred {

// Mendoza and Wang's linear regression: a straight line through flattened nets. Columns of the adjacency matrix depend
// on one another, so that of all lines that are equally near it takes the one with the least coefficients, of columns
// brought to mean 0 and deviation 1. This header includes no torch.
class FlatLine {
 public:
  // Fits; seconds of each net are needed.
  FlatLine(const NetTable& table, std::int64_t most_nodes);
  // Takes up what arrays() of another gave.
  FlatLine(const NamedArrays& arrays, std::int64_t most_nodes);

  [[nodiscard]] std::vector<double> predict(const NetTable& table) const;  // [G] seconds; may be below zero
  [[nodiscard]] NamedArrays arrays() const;  // mean, deviation and coefficients of the columns, and the intercept

 private:
  std::int64_t most_nodes_;
  std::vector<double> mean_, deviation_, coefficients_;  // [F]
  double intercept_ = 0;
};

}  // namespace latpred
