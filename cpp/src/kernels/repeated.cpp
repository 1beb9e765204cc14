#include "repeated.h"

#include <algorithm>

#include "kind_sets.h"
#include "strided_inputs.h"

namespace latpred {
namespace {

constexpr std::size_t kMostReads = 4;
constexpr Kinds kRepeated = kPointwise | of(CostKind::batch_norm, CostKind::layer_norm);

// [tensors] memory that a library or the caller reads.
std::vector<bool> is_given_away(const Graph& graph, const ViewInfo& views, const std::vector<CostKind>& kinds) {
  std::vector<bool> result(graph.tensors.size(), false);
  for (std::size_t position = 0; position < graph.nodes.size(); ++position) {
    if (views.is_view[position] || !has(kLibraries, kinds[position])) continue;
    for (const TensorId id : graph.nodes[position].inputs) {
      if (id != kAbsent) result[views.base[id]] = true;
    }
  }
  for (const TensorId id : graph.outputs) result[views.base[id]] = true;
  return result;
}

}  // namespace

Repeated::Repeated(const Graph& graph, const ViewInfo& views, const std::vector<CostKind>& kinds)
    : sources_(graph.tensors.size()), repeats_bias_(graph.nodes.size(), false) {
  const std::vector<bool> given_away = is_given_away(graph, views, kinds);
  const auto readers = memory_readers(graph, views);
  std::vector<std::vector<TensorId>> reads(graph.tensors.size());  // of what is not stored, and of what alone reads it
  for (std::size_t position = 0; position < graph.nodes.size(); ++position) {
    const Node& node = graph.nodes[position];
    if (views.is_view[position] || node.outputs.empty() || node.outputs[0] == kAbsent) continue;
    const TensorId made = node.outputs[0];
    if (given_away[made]) continue;
    const bool is_shared = readers[made].size() > 1;
    if (traces_bias_apart(graph, node, kinds[position])) {
      repeats_bias_[position] = is_shared;
      reads[made] = {made, node.inputs[2]};
    }
    if (!has(kRepeated, kinds[position])) continue;
    std::vector<TensorId> found;
    const auto add = [&](TensorId id) {
      if (std::ranges::find(found, id) == found.end()) found.push_back(id);
    };
    for (const TensorId id : node.inputs) {
      if (id == kAbsent || graph.tensors[id].num_elements() <= 1) continue;
      const TensorId memory = views.base[id];
      if (reads[memory].empty()) add(memory);
      std::ranges::for_each(reads[memory], add);
    }
    if (is_shared && found.size() > kMostReads) continue;
    if (is_shared) sources_[made] = found;
    reads[made] = std::move(found);
  }
}

}  // namespace latpred
