#pragma once

#include "kernel_rows.h"
#include "latpred/graph.h"
#include "outside_readers.h"
#include "prepared_graph.h"
#include "stored_bytes.h"

namespace latpred {

// Counts the bytes that rows read and write, while nodes join them. All that it is made of must outlive it.
class Traffic {
 public:
  Traffic(const PreparedGraph& prepared, const StoredBytes& bytes, OutsideReaders& outside, KernelRows& rows)
      : prepared_(prepared), bytes_(bytes), outside_(outside), rows_(rows) {}

  // Adds to `row` what the node at `position` moves, which is appended next.
  void add(RowId row, NodeId position);
  // The row that ends in `id` writes a narrow copy of it for the library at `position`.
  void add_narrow_copy(NodeId position, TensorId id);

 private:
  [[nodiscard]] double made_inside(RowId row, NodeId position) const;
  void keep_inside(RowId row, const Node& node);
  void leave_unread(RowId row, TensorId memory);
  double loaded_already(RowId row, NodeId position);
  [[nodiscard]] double made_in_place(RowId row, const Node& node) const;

  const PreparedGraph& prepared_;
  const StoredBytes& bytes_;
  OutsideReaders& outside_;
  KernelRows& rows_;
};

}  // namespace latpred
