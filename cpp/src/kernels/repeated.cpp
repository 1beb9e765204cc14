#include "repeated.h"

#include <algorithm>
#include <iterator>

#include "kind_sets.h"
#include "realize_thresholds.h"
#include "strided_inputs.h"

namespace latpred {
namespace {

constexpr Kinds kRepeated = kPointwise | of(CostKind::batch_norm, CostKind::layer_norm);
constexpr TensorId kMostStatistics = 2;

// Of a norm: its deviation, and the mean that root mean squares leave out. No tensor of the graph stands for them.
TensorId num_statistics(const Node& node) { return node.op == OperatorId::rms_norm ? 1 : kMostStatistics; }

// Numbers that no tensor has.
TensorId statistic(std::size_t position, TensorId which) {
  return -2 - static_cast<TensorId>(position) * kMostStatistics - which;
}

}  // namespace

Repeated::Repeated(const Graph& graph, const std::vector<CostKind>& kinds, const ViewInfo& views,
                   const MemoryReaders& readers)
    : sources_(graph.tensors.size()), repeats_bias_(graph.nodes.size(), false) {
  std::vector<std::vector<TensorId>> reads(graph.tensors.size());  // of what is not stored, and of what alone reads it
  for (std::size_t position = 0; position < graph.nodes.size(); ++position) {
    const Node& node = graph.nodes[position];
    if (views.is_view[position] || node.outputs.empty() || node.outputs[0] == kAbsent) continue;
    const TensorId made = node.outputs[0];
    if (!readers.are_generated(made)) continue;
    const bool is_shared = readers.are_several(made);
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
    if (kinds[position] == CostKind::layer_norm) {
      for (TensorId which = 0; which < num_statistics(node); ++which) add(statistic(position, which));
    }
    if (found.size() > (is_shared ? kMostReadsOfShared : kMostReads)) continue;
    if (is_shared) std::ranges::copy_if(found, std::back_inserter(sources_[made]), [](TensorId id) { return id >= 0; });
    reads[made] = std::move(found);
  }
}

}  // namespace latpred
