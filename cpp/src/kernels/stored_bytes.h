#pragma once

#include <algorithm>
#include <vector>

#include "latpred/graph.h"
#include "latpred/operators.h"
#include "latpred/storage.h"
#include "latpred/views.h"

namespace latpred {

// Each of `ids` once, without absent ones.
template <typename Visit>
void for_each_distinct(const std::vector<TensorId>& ids, Visit visit) {
  for (auto id = ids.begin(); id != ids.end(); ++id) {
    if (*id != kAbsent && std::find(ids.begin(), id, *id) == id) visit(*id);
  }
}

// Bytes of a graph's tensors as a precision stores them. All that it is made of must outlive it.
class StoredBytes {
 public:
  // What one node moves that runs alone.
  struct Moved {
    double in = 0;
    double out = 0;
    double weights = 0;
  };

  // `casts_inside`: generated kernels load what is stored, and cast it themselves.
  StoredBytes(const Graph& graph, const std::vector<CostKind>& kinds, const ViewInfo& views, const Storage& storage,
              bool casts_inside);

  // In memory.
  [[nodiscard]] double stored(TensorId id) const;
  // Of the copy that autocast makes.
  [[nodiscard]] double cast(TensorId id) const;
  // As the node at `position` loads it: once, what is repeated there.
  [[nodiscard]] double read(NodeId position, TensorId id) const;
  [[nodiscard]] Moved moved(NodeId position) const;

 private:
  [[nodiscard]] int bits_loaded(NodeId position, TensorId id) const;
  [[nodiscard]] double bytes(TensorId id, int bits) const;
  template <typename Bits>
  [[nodiscard]] double share(const std::vector<TensorId>& ids, bool weights, Bits bits) const;

  const Graph& graph_;
  const std::vector<CostKind>& kinds_;
  const ViewInfo& views_;
  const Storage& storage_;
  bool casts_inside_;
};

}  // namespace latpred
