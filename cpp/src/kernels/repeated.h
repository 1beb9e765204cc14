#pragma once

#include <vector>

#include "latpred/graph.h"
#include "latpred/operators.h"
#include "latpred/views.h"
#include "memory_readers.h"

namespace latpred {

// What Inductor does not store, but computes again in every kernel that reads it: point-wise results of at most four
// tensors (realize_reads_threshold) that several generated kernels and nothing else read. A residual connection is
// written after a few additions only.
class Repeated {
 public:
  Repeated() = default;
  Repeated(const Graph& graph, const std::vector<CostKind>& kinds, const ViewInfo& views, const MemoryReaders& readers);

  // Whether no kernel writes the memory of `id`.
  [[nodiscard]] bool is_unstored(TensorId id) const {
    return id != kAbsent && !sources_.empty() && !sources_[id].empty();
  }
  // What is read in its place.
  [[nodiscard]] const std::vector<TensorId>& sources(TensorId id) const { return sources_[id]; }
  // Whether all who read what a library made add the bias themselves.
  [[nodiscard]] bool repeats_bias(NodeId position) const { return !repeats_bias_.empty() && repeats_bias_[position]; }

 private:
  std::vector<std::vector<TensorId>> sources_;  // [tensors] empty: stored
  std::vector<bool> repeats_bias_;              // [nodes]
};

}  // namespace latpred
