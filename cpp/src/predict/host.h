#pragma once

#include <vector>

#include "latpred/predictor.h"

namespace latpred {

// Puts the host's side to the kernels' times [K]: a call takes the time of its kernels or of its launches, whichever is
// longer, and a little more where both are near, because neither runs evenly.
[[nodiscard]] LatencyOutput join_host(std::vector<double> kernel_s, double host_s);
// The same for the launches of `input` and `factor` times the runtime's time for each.
[[nodiscard]] LatencyOutput add_host(const LatencyInput& input, std::vector<double> kernel_s, double factor = 1);

}  // namespace latpred
