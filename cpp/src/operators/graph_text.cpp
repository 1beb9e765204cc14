#include "latpred/graph_text.h"

#include "latpred/operators.h"
#include "latpred/text.h"

namespace latpred {
namespace {

std::string tensors_text(const Graph& graph, const std::vector<TensorId>& ids) {
  std::vector<std::string> words;
  for (const TensorId id : ids) {
    words.push_back(id == kAbsent ? "-" : concat(graph.tensors[id].name, " ", shape_text(graph.tensors[id].shape)));
  }
  return join(words);
}

}  // namespace

std::string to_text(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) {
    text += concat(node.name, ": ", operator_row(node.op).name, "(", tensors_text(graph, node.inputs), ") -> ",
                   tensors_text(graph, node.outputs));
    if (node.repeat != 1) text += concat(" x", node.repeat);
    text += '\n';
  }
  return text;
}

}  // namespace latpred
