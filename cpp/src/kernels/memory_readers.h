#pragma once

#include <span>
#include <vector>

#include "latpred/graph.h"
#include "latpred/operators.h"
#include "latpred/views.h"

namespace latpred {

// One input of a node, seen through views.
struct MemoryReader {
  NodeId node;
  TensorId input;   // what the node names: the memory's tensor or a view of it
  bool is_library;  // the node is a library's kernel
};

// Who reads each tensor's memory. Views read nothing.
class MemoryReaders {
 public:
  MemoryReaders(const Graph& graph, const std::vector<CostKind>& kinds, const ViewInfo& views);

  // In the order of the nodes, once for each input that lies in `memory`.
  [[nodiscard]] std::span<const MemoryReader> of(TensorId memory) const {
    return std::span(readers_).subspan(first_[memory], first_[memory + 1] - first_[memory]);
  }
  // How many of the network's results lie there.
  [[nodiscard]] int num_results(TensorId memory) const { return num_results_[memory]; }
  // Whether they are more than one node, which may read it more than once.
  [[nodiscard]] bool are_several(TensorId memory) const;
  // Whether generated kernels alone read `memory`, not the caller or a library.
  [[nodiscard]] bool are_generated(TensorId memory) const;

 private:
  std::vector<std::size_t> first_;     // [tensors + 2] where each tensor's readers begin; the last is spare
  std::vector<MemoryReader> readers_;  // those of one tensor behind those of another
  std::vector<int> num_results_;       // [tensors]
};

}  // namespace latpred
