#include "inlined_nodes.h"

#include <algorithm>
#include <array>
#include <span>

#include "kind_sets.h"
#include "memory_readers.h"

namespace latpred {
namespace {

// Their decompositions use the input more than once (x * sigmoid(x), where(x > 0, x, 0.01 * x)): a batch norm in front
// is written, for it reads more tensors than Inductor repeats (realize_reads_threshold).
constexpr std::array kReadTwice{
    OperatorId::leaky_relu, OperatorId::prelu, OperatorId::hard_swish, OperatorId::quick_gelu, OperatorId::silu,
    OperatorId::swish,      OperatorId::elu,   OperatorId::selu,       OperatorId::celu,       OperatorId::gelu,
    OperatorId::fast_gelu,  OperatorId::mish,  OperatorId::softplus};

constexpr Kinds kSameShape = kPointwise | of(CostKind::batch_norm);

// What Inductor computes where it is read.
struct Recomputed {
  const Graph& graph;
  const std::vector<CostKind>& kinds;
  const MemoryReaders& readers;

  // Whether Inductor makes `id` once more wherever it is read. It does not where a kernel over the same elements reads
  // it, or what comes of it point-wise: a library in the end, or the caller.
  [[nodiscard]] bool is_computed_again(TensorId id) const {
    while (id != kAbsent && !readers.of(id).empty() && readers.are_generated(id)) {
      const NodeId reader = readers.of(id).front().node;
      if (readers.are_several(id) || !has(kSameShape, kinds[reader])) return true;
      if (graph.nodes[reader].outputs.empty()) return false;
      id = graph.nodes[reader].outputs[0];
    }
    return false;
  }

  // Whether `node` is point-wise, and made where its readers are.
  [[nodiscard]] bool is_carried(NodeId node) const {
    const std::vector<TensorId>& made = graph.nodes[node].outputs;
    return has(kSameShape, kinds[node]) && !made.empty() && is_computed_again(made[0]);
  }
};

// From now on `id`, and what looks at it, lies where `from` does.
void see_through(TensorId id, TensorId from, ViewInfo& views) {
  std::ranges::replace(views.base, id, views.base[from]);
}

bool has_both_ends(const Node& node) {
  return !node.inputs.empty() && node.inputs[0] != kAbsent && !node.outputs.empty() && node.outputs[0] != kAbsent;
}

bool pads_nothing(const Graph& graph, const Node& node) {
  return node.op == OperatorId::pad && has_both_ends(node) &&
         graph.tensors[node.inputs[0]].shape == graph.tensors[node.outputs[0]].shape;
}

void widen(std::span<const MemoryReader> readers, TensorId id, Storage& storage) {
  if (storage.tensor_bits[id] != kHalfBits) return;
  storage.tensor_bits[id] = kSingleBits;
  for (const MemoryReader& reader : readers) std::erase(storage.casts[reader.node], id);
}

}  // namespace

InlinedNodes inline_nodes(const Graph& graph, const std::vector<CostKind>& kinds, ViewInfo& views, Storage& storage) {
  InlinedNodes found{.written = std::vector<bool>(graph.tensors.size(), false),
                     .carried = std::vector<bool>(graph.nodes.size(), false)};
  std::vector<NodeId> maker(graph.tensors.size(), -1);
  for (NodeId position = 0; position < static_cast<NodeId>(graph.nodes.size()); ++position) {
    const Node& node = graph.nodes[position];
    for (const TensorId id : node.outputs) {
      if (id != kAbsent) maker[id] = position;
    }
    if (pads_nothing(graph, node)) {
      views.is_view[position] = true;
      see_through(node.outputs[0], node.inputs[0], views);
    }
  }
  const MemoryReaders readers(graph, kinds, views);
  const Recomputed recomputed{graph, kinds, readers};
  for (NodeId position = 0; position < static_cast<NodeId>(graph.nodes.size()); ++position) {
    const Node& node = graph.nodes[position];
    if (std::ranges::find(kReadTwice, node.op) == kReadTwice.end() || !has_both_ends(node)) continue;
    if (views.is_view[position]) continue;
    const TensorId from = node.inputs[0];
    const TensorId made = node.outputs[0];
    const bool is_behind_norm = maker[from] >= 0 && kinds[maker[from]] == CostKind::batch_norm;
    if (!is_behind_norm || readers.are_several(from) || readers.num_results(from) > 0) continue;
    if (!recomputed.is_computed_again(made)) continue;
    views.is_view[position] = true;
    widen(readers.of(from), from, storage);
    for (std::size_t id = 0; id < graph.tensors.size(); ++id) {
      if (views.base[id] == made) widen(readers.of(made), static_cast<TensorId>(id), storage);
    }
    see_through(made, from, views);
    found.written[from] = true;
    for (const MemoryReader& reader : readers.of(made)) {
      found.carried[reader.node] = recomputed.is_carried(reader.node);
    }
  }
  return found;
}

}  // namespace latpred
