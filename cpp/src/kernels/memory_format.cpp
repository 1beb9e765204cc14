#include "memory_format.h"

#include <algorithm>
#include <array>

namespace latpred {
namespace {

constexpr std::size_t kImageRank = 4;

// Operators that give their result the memory format of what they read.
constexpr std::array kKeepers{
    CostKind::conv,       CostKind::conv_1x1, CostKind::conv_grouped, CostKind::conv_depthwise,
    CostKind::batch_norm, CostKind::unary,    CostKind::binary,       CostKind::pool,
    CostKind::resize,     CostKind::concat,   CostKind::cast,
};

bool is_image(const Graph& graph, TensorId id) {
  return id != kAbsent && graph.tensors[id].shape.size() == kImageRank && !graph.tensors[id].is_weight();
}

bool of_transpose(const Node& node, bool before) {
  const std::vector<std::int64_t> order = node.attributes.integers("perm");
  if (!before && order == std::vector<std::int64_t>{0, 3, 1, 2}) return true;
  return before && order == std::vector<std::int64_t>{0, 1, 2, 3};
}

}  // namespace

std::vector<bool> find_channels_last(const Graph& graph, const std::vector<CostKind>& kinds, bool inputs) {
  std::vector<bool> result(graph.tensors.size(), false);
  for (const TensorId id : graph.inputs) result[id] = inputs && is_image(graph, id);
  for (std::size_t position = 0; position < graph.nodes.size(); ++position) {
    const Node& node = graph.nodes[position];
    const auto image = std::find_if(node.inputs.begin(), node.inputs.end(),
                                    [&](TensorId id) { return is_image(graph, id) && result[id]; });
    const bool reads_one = image != node.inputs.end();
    const bool keeps = std::find(kKeepers.begin(), kKeepers.end(), kinds[position]) != kKeepers.end() ||
                       node.op == OperatorId::slice || node.op == OperatorId::split;
    for (const TensorId id : node.outputs) {
      if (!is_image(graph, id)) continue;
      result[id] = node.op == OperatorId::transpose ? of_transpose(node, reads_one) : keeps && reads_one;
    }
  }
  return result;
}

}  // namespace latpred
