#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "latpred/graph.h"

namespace latpred {

// How Inductor lays out what its point-wise kernels write (pick_loop_order, torch/_inductor/scheduler.py): each pair of
// axes as most of the tensors lie that the kernel reads, row-major where these are even. A kernel reads what its inputs
// were computed from, unless these are written, as those are that more than one operator uses and that read much.
class LoopOrder {
 public:
  explicit LoopOrder(const Graph& graph);

  // Of what `node` makes, given those of its inputs, nodes in order; nothing where it is not a point-wise kernel.
  [[nodiscard]] std::optional<Shape> result_strides(const std::vector<Shape>& strides, const Node& node,
                                                    std::size_t index);

 private:
  struct Read {
    TensorId id;
    Shape strides;  // as the reader walks it
  };

  [[nodiscard]] bool is_written(TensorId id, std::size_t num_reads) const;

  const Graph& graph_;
  std::vector<std::vector<Read>> reads_;  // [tensors] none where it is in memory
  std::vector<int> num_users_;            // [tensors]
};

}  // namespace latpred
