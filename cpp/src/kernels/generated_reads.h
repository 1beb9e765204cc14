#pragma once

#include <cstdint>
#include <vector>

#include "latpred/graph.h"

namespace latpred {

// What the kernels of a code generator read from outside: each element once, however many of its operators want it.
class GeneratedReads {
 public:
  explicit GeneratedReads(std::size_t num_tensors) : seen_through_(num_tensors, kAbsent) {}

  void see_through(TensorId view, TensorId from) { seen_through_[static_cast<std::size_t>(view)] = from; }
  // Notes that `row` reads `bytes` of `id`, and returns how many of these it has loaded already.
  double note(std::int64_t row, TensorId id, double bytes);
  // `from` is computed in `into` from now on. Returns the bytes that both read.
  double merge(std::int64_t from, std::int64_t into);

 private:
  struct Read {
    TensorId tensor = kAbsent;
    double bytes = 0;
  };

  // Whether `row` reads `id`, or what it is a view of.
  [[nodiscard]] bool is_read(std::int64_t row, TensorId id) const;

  std::vector<TensorId> seen_through_;    // [tensors] what a view looks at
  std::vector<std::vector<Read>> reads_;  // [rows]
};

}  // namespace latpred
