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

// A view of a tensor that lies in its own order: its strides tell. Of one that does not, the permutation does.
bool is_view_channels_last(const Node& node, const Shape& shape, const Shape& strides, bool base_is) {
  if (!base_is) return strides.size() == kImageRank && shape[1] > 1 && strides[1] == 1 && strides[3] == shape[1];
  return node.op == OperatorId::slice || node.op == OperatorId::split;
}

}  // namespace

std::vector<bool> find_channels_last(const Graph& graph, const std::vector<CostKind>& kinds, const ViewInfo& views,
                                     bool inputs) {
  std::vector<bool> result(graph.tensors.size(), false);
  for (const TensorId id : graph.inputs) result[id] = inputs && is_image(graph, id);
  for (std::size_t position = 0; position < graph.nodes.size(); ++position) {
    const Node& node = graph.nodes[position];
    const auto image = std::find_if(node.inputs.begin(), node.inputs.end(),
                                    [&](TensorId id) { return is_image(graph, id) && result[id]; });
    const bool reads_one = image != node.inputs.end();
    const bool keeps = std::find(kKeepers.begin(), kKeepers.end(), kinds[position]) != kKeepers.end();
    for (const TensorId id : node.outputs) {
      if (!is_image(graph, id)) continue;
      result[id] = views.is_view[position]
                       ? is_view_channels_last(node, graph.tensors[id].shape, views.strides[id], reads_one)
                       : keeps && reads_one;
    }
  }
  return result;
}

}  // namespace latpred
