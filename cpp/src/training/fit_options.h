#pragma once

#include <cstdint>
#include <vector>

namespace latpred {

// How a module is trained. Equal options and equal rows give equal weights.
struct FitOptions {
  std::int64_t epochs = 100;      // passes over all rows
  std::int64_t batch_rows = 256;  // rows in one step
  double learning_rate = 1e-3;    // Adam's own default
  double huber_delta = 1.0;       // residual, in deviations of the targets, from which the loss grows linearly
  std::uint64_t seed = 0;
};

struct FitReport {
  std::vector<double> losses;  // [epochs] mean loss over the rows of each pass
};

}  // namespace latpred
