#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "generated_reads.h"
#include "kind_sets.h"
#include "latpred/graph.h"
#include "latpred/kernel.h"

namespace latpred {

using RowId = std::int64_t;
inline constexpr RowId kNoRow = -1;

// The kernels of a graph while they are made, in the order in which they run: which one makes a tensor, what joins
// them, and how one is absorbed in another.
class KernelRows {
 public:
  KernelRows(std::size_t num_nodes, std::size_t num_tensors);

  [[nodiscard]] RowId size() const { return std::ssize(rows_); }
  [[nodiscard]] const Kernel& operator[](RowId row) const { return rows_[row]; }
  [[nodiscard]] Kernel& operator[](RowId row) { return rows_[row]; }

  // The row that ends in `id`, seen through views, so that its readers can join it; kNoRow where there is none.
  [[nodiscard]] RowId tail_row(TensorId id) const { return tail_rows_[id]; }
  // Whether that is a row that no library executes.
  [[nodiscard]] bool is_generated(TensorId id) const {
    return tail_row(id) != kNoRow && !has(kLibraries, rows_[tail_row(id)].kind);
  }
  // Whether all that `node` reads is made by the end of `row`.
  [[nodiscard]] bool is_ready(const Node& node, RowId row) const;
  // Whether it does nothing yet.
  [[nodiscard]] bool is_empty(RowId row) const { return rows_[row].members.empty() && bias_of(row) == kAbsent; }
  // The tensor to which it adds a bias before all else; kAbsent where it does not.
  [[nodiscard]] TensorId bias_of(RowId row) const { return biases_[row]; }

  // Puts `kernel` behind the others.
  RowId add(Kernel&& kernel);
  // The same of one that adds the bias to `id` and can be joined.
  void add_bias(Kernel&& kernel, TensorId id);
  // `node`, which stands at `position`, is executed by `row`. Bytes are counted apart (traffic.h).
  void append(RowId row, NodeId position, const Node& node);
  // `id` is made by the last row, which nothing can join.
  void close(TensorId id) { producer_rows_[id] = size() - 1; }
  // A view hands its producer's row on; readers join that only where it `is_whole`.
  void see_through(TensorId view, TensorId from, bool is_whole);

  // Notes that `row` reads `bytes` of `id`, and returns how many of these it has loaded already.
  double note_read(RowId row, TensorId id, double bytes) { return reads_.note(row, id, bytes); }

  // `row` is executed after all others. Returns its number there.
  RowId move_to_end(RowId row);
  // `into` does the work of `from` too; nothing else reads what `from` makes.
  void absorb(RowId from, RowId into);
  void drop(RowId row) { dropped_.push_back(row); }

  // Those that are left.
  [[nodiscard]] std::vector<Kernel> take() &&;

 private:
  // What `from` made is made by `to`.
  void rename(RowId from, RowId to);

  std::vector<Kernel> rows_;
  std::vector<TensorId> biases_;      // [rows]
  std::vector<RowId> dropped_;        // in no order
  std::vector<RowId> tail_rows_;      // [tensors]
  std::vector<RowId> producer_rows_;  // [tensors] the last row that it depends on; kNoRow: an input
  GeneratedReads reads_;
};

}  // namespace latpred
