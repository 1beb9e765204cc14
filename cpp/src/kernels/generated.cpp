#include "generated.h"

#include <algorithm>

#include "kind_sets.h"
#include "latpred/text.h"

namespace latpred {

double GeneratedReads::note(std::int64_t row, TensorId id, double bytes) {
  const auto index = static_cast<std::size_t>(row);
  if (index >= reads_.size()) reads_.resize(index + 1);
  if (is_read(row, id)) return bytes;
  reads_[index].push_back({id, bytes});
  return 0;
}

double GeneratedReads::merge(std::int64_t from, std::int64_t into) {
  reads_.resize(std::max(reads_.size(), static_cast<std::size_t>(std::max(from, into)) + 1));
  double both = 0;
  for (const Read& read : reads_[into]) {
    if (is_read(from, read.tensor)) both += read.bytes;
  }
  reads_[into].insert(reads_[into].end(), reads_[from].begin(), reads_[from].end());
  reads_[from].clear();
  return both;
}

bool GeneratedReads::is_read(std::int64_t row, TensorId id) const {
  for (; id != kAbsent; id = seen_through_[id]) {
    const auto is_of_id = [&](const Read& read) { return read.tensor == id; };
    if (std::any_of(reads_[row].begin(), reads_[row].end(), is_of_id)) return true;
  }
  return false;
}

std::vector<bool> feed_generated(const Graph& graph, const ViewInfo& views, const std::vector<CostKind>& kinds) {
  std::vector<bool> result(graph.nodes.size(), true);
  std::vector<NodeId> maker(graph.tensors.size(), -1);
  const auto is_read_otherwise = [&](TensorId id) {
    if (const NodeId from = maker[views.base[id]]; from >= 0) result[from] = false;
  };
  for (std::size_t position = 0; position < graph.nodes.size(); ++position) {
    if (views.is_view[position]) continue;
    const Node& node = graph.nodes[position];
    for (const TensorId id : node.inputs) {
      if (id != kAbsent && !has(kInlined, kinds[position])) is_read_otherwise(id);
    }
    for (const TensorId id : node.outputs) {
      if (id != kAbsent) maker[id] = static_cast<NodeId>(position);
    }
  }
  for (const TensorId id : graph.outputs) is_read_otherwise(id);
  return result;
}

void merge(Kernel& gone, Kernel& kept) {
  kept.name = concat(gone.name, "+", kept.name);
  kept.members.insert(kept.members.begin(), gone.members.begin(), gone.members.end());
  std::sort(kept.members.begin(), kept.members.end());
  kept.macs += gone.macs;
  kept.flops += gone.flops;
  kept.bytes_in += gone.bytes_in;
  kept.bytes_out += gone.bytes_out;
  kept.weight_bytes += gone.weight_bytes;
  gone.members.clear();
}

}  // namespace latpred
