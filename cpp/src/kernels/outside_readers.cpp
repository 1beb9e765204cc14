#include "outside_readers.h"

#include "kind_sets.h"

namespace latpred {

OutsideReaders::OutsideReaders(const Graph& graph, const std::vector<CostKind>& kinds, const ViewInfo& views,
                               const Storage& storage, const Repeated& repeated)
    : all_(graph.tensors.size(), 0), wide_(graph.tensors.size(), 0), by_library_(graph.tensors.size(), false) {
  for (NodeId position = 0; position < static_cast<NodeId>(graph.nodes.size()); ++position) {
    if (views.is_view[position]) continue;
    if (has(kLibraries, kinds[position])) {
      for (const TensorId id : graph.nodes[position].outputs) {
        if (id != kAbsent) by_library_[id] = true;
      }
    }
    for (const TensorId id : graph.nodes[position].inputs) {
      if (id == kAbsent) continue;
      const TensorId memory = views.base[id];
      ++all_[memory];
      // A generated kernel casts what it reads itself.
      if (!has(kLibraries, kinds[position]) || !is_narrowed(storage, position, id)) ++wide_[memory];
      if (!repeated.is_unstored(memory)) continue;
      for (const TensorId source : repeated.sources(memory)) {
        if (!by_library_[source]) ++wide_[source];
      }
    }
  }
  for (const TensorId id : graph.outputs) {
    ++all_[views.base[id]];
    ++wide_[views.base[id]];
  }
}

void OutsideReaders::join(TensorId memory) {
  --all_[memory];
  --wide_[memory];
}

void OutsideReaders::join_source(TensorId memory) {
  if (!by_library_[memory]) --wide_[memory];
}

bool OutsideReaders::take_unread(TensorId memory) {
  if (wide_[memory] != 0) return false;
  wide_[memory] = -1;
  return true;
}

}  // namespace latpred
