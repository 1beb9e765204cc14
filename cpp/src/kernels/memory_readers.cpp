#include "memory_readers.h"

#include <algorithm>
#include <numeric>

#include "kind_sets.h"

namespace latpred {
namespace {

template <typename Visit>
void for_each_read(const Graph& graph, const ViewInfo& views, Visit visit) {
  for (NodeId position = 0; position < static_cast<NodeId>(graph.nodes.size()); ++position) {
    if (views.is_view[position]) continue;
    for (const TensorId id : graph.nodes[position].inputs) {
      if (id != kAbsent) visit(position, id);
    }
  }
}

}  // namespace

MemoryReaders::MemoryReaders(const Graph& graph, const std::vector<CostKind>& kinds, const ViewInfo& views)
    : first_(graph.tensors.size() + 2, 0), num_results_(graph.tensors.size(), 0) {
  // Counted two places behind; then the place behind is where the next reader goes, and ends where the next tensor's
  // begin. A vector for each tensor would take several times as long.
  for_each_read(graph, views, [&](NodeId, TensorId id) { ++first_[views.base[id] + 2]; });
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  readers_.resize(first_.back());
  for_each_read(graph, views, [&](NodeId position, TensorId id) {
    readers_[first_[views.base[id] + 1]++] = {position, id, has(kLibraries, kinds[position])};
  });
  for (const TensorId id : graph.outputs) ++num_results_[views.base[id]];
}

bool MemoryReaders::are_several(TensorId memory) const {
  const auto readers = of(memory);
  return std::ranges::any_of(readers, [&](const MemoryReader& reader) { return reader.node != readers[0].node; });
}

bool MemoryReaders::are_generated(TensorId memory) const {
  return num_results_[memory] == 0 && std::ranges::none_of(of(memory), &MemoryReader::is_library);
}

}  // namespace latpred
