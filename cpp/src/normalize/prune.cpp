#include "normalize/prune.h"

#include <utility>
#include <vector>

namespace latpred {

void prune(Graph& graph) {
  std::vector<char> needed(graph.tensors.size());
  for (const TensorId id : graph.outputs) needed[id] = 1;
  std::vector<char> keep(graph.nodes.size());
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    Node& node = graph.nodes[i];
    bool is_read = false;
    for (TensorId& id : node.outputs) {
      if (id == kAbsent) continue;
      if (needed[id] != 0) {
        is_read = true;
      } else {
        id = kAbsent;
      }
    }
    if (!is_read) continue;
    keep[i] = 1;
    for (const TensorId id : node.inputs) {
      if (id != kAbsent) needed[id] = 1;
    }
  }
  for (const TensorId id : graph.inputs) needed[id] = 1;
  std::vector<Node> nodes;
  nodes.reserve(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (keep[i] != 0) nodes.push_back(std::move(graph.nodes[i]));
  }
  graph.nodes = std::move(nodes);
  std::vector<TensorId> renumbered(graph.tensors.size(), kAbsent);
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    if (needed[i] == 0) continue;
    renumbered[i] = static_cast<TensorId>(tensors.size());
    tensors.push_back(std::move(graph.tensors[i]));
  }
  graph.tensors = std::move(tensors);
  const auto renumber = [&](std::vector<TensorId>& ids) {
    for (TensorId& id : ids) {
      if (id != kAbsent) id = renumbered[id];
    }
  };
  for (Node& node : graph.nodes) {
    renumber(node.inputs);
    renumber(node.outputs);
  }
  renumber(graph.inputs);
  renumber(graph.outputs);
}

}  // namespace latpred
