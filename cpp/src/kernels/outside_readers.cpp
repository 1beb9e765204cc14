#include "outside_readers.h"

#include "kind_sets.h"

namespace latpred {

OutsideReaders::OutsideReaders(const Graph& graph, const std::vector<CostKind>& kinds, const MemoryReaders& readers,
                               const Storage& storage, const Repeated& repeated)
    : all_(graph.tensors.size(), 0), wide_(graph.tensors.size(), 0), by_library_(graph.tensors.size(), false) {
  for (std::size_t position = 0; position < graph.nodes.size(); ++position) {
    if (!has(kLibraries, kinds[position])) continue;
    for (const TensorId id : graph.nodes[position].outputs) {
      if (id != kAbsent) by_library_[id] = true;
    }
  }
  for (TensorId memory = 0; memory < static_cast<TensorId>(graph.tensors.size()); ++memory) {
    const auto here = readers.of(memory);
    all_[memory] += std::ssize(here) + readers.num_results(memory);
    wide_[memory] += readers.num_results(memory);
    for (const MemoryReader& reader : here) {
      // A generated kernel casts what it reads itself.
      if (!reader.is_library || !is_narrowed(storage, reader.node, reader.input)) ++wide_[memory];
    }
    if (!repeated.is_unstored(memory)) continue;
    for (const TensorId source : repeated.sources(memory)) {
      if (!by_library_[source]) wide_[source] += std::ssize(here);
    }
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
