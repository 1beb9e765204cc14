#pragma once

#include <vector>

#include "kernel_rows.h"
#include "latpred/graph.h"
#include "outside_readers.h"
#include "prepared_graph.h"
#include "stored_bytes.h"
#include "traffic.h"

namespace latpred {

// Adds the kernels that no operator of the graph stands for: casts and copies in front of one, statistics and the
// addition of a bias behind it. All that it is made of must outlive it.
class ExtraKernels {
 public:
  ExtraKernels(const PreparedGraph& prepared, const StoredBytes& bytes, const OutsideReaders& outside, Traffic& traffic,
               KernelRows& rows);

  // What the node at `position` needs before it is executed.
  void add_before(NodeId position);
  // What follows on the row that executes it.
  void add_behind(RowId row, NodeId position);

 private:
  [[nodiscard]] std::vector<TensorId> copied(NodeId position) const;
  void add_cast(NodeId position, TensorId id, bool is_copied);
  bool fold_cast(NodeId position, TensorId id, bool is_copied);
  void add_copy(NodeId position, TensorId id);
  [[nodiscard]] bool adds_bias(RowId row, NodeId position) const;
  void add_bias(NodeId position);

  const PreparedGraph& prepared_;
  const StoredBytes& bytes_;
  const OutsideReaders& outside_;
  Traffic& traffic_;
  KernelRows& rows_;
  bool is_of_pytorch_;
  bool is_eager_;                // PyTorch operator by operator: a code generator reads what it needs where it lies
  std::vector<bool> cast_done_;  // [tensors]
};

}  // namespace latpred
