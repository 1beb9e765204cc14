#pragma once

#include <cstddef>
#include <vector>

#include "latpred/graph.h"
#include "latpred/operators.h"
#include "latpred/storage.h"
#include "memory_readers.h"
#include "repeated.h"

namespace latpred {

// Who reads what a kernel makes from outside of it, while kernels grow.
class OutsideReaders {
 public:
  // `repeated`: what is computed again from memory that its readers read in its place.
  OutsideReaders(const Graph& graph, const std::vector<CostKind>& kinds, const MemoryReaders& readers,
                 const Storage& storage, const Repeated& repeated);

  // How many read `memory`, the caller's result among them.
  [[nodiscard]] std::ptrdiff_t count(TensorId memory) const { return all_[memory]; }
  // One fewer: it is computed where `memory` is made.
  void join(TensorId memory);
  // The same of one that reads `memory` in place of what is computed from it.
  void join_source(TensorId memory);
  // Whether all who are left are libraries that read a narrower copy, so that it need not be written as it is; true
  // once.
  [[nodiscard]] bool take_unread(TensorId memory);

 private:
  std::vector<std::ptrdiff_t> all_;   // [tensors]
  std::vector<std::ptrdiff_t> wide_;  // [tensors] those that read it as it is, or in place of what comes of it
  std::vector<bool> by_library_;      // [tensors] stored by a library: a generated kernel adds nothing but a bias to it
};

}  // namespace latpred
