#pragma once

#include <cstdint>

#include "latpred/graph.h"
#include "latpred/predict_request.h"

namespace latpred {

// Whether the memory that a network needs is there.
struct MemoryFit {
  bool fits = false;  // by the upper end of the memory interval
  double usable_bytes = 0;
  double needed_bytes = 0;  // upper end of the interval
};

[[nodiscard]] MemoryFit memory_fit(const Graph& graph, const PredictRequest& request);

// The largest batch whose memory fits, 0 when batch 1 does not: found by halving, and by sixteenths of an octave above.
[[nodiscard]] std::int64_t largest_batch(const Graph& graph, const PredictRequest& request);

}  // namespace latpred
