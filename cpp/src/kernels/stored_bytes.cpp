#include "stored_bytes.h"

#include <algorithm>

#include "kind_sets.h"

namespace latpred {

StoredBytes::StoredBytes(const Graph& graph, const std::vector<CostKind>& kinds, const ViewInfo& views,
                         const Storage& storage, bool casts_inside)
    : graph_(graph), kinds_(kinds), views_(views), storage_(storage), casts_inside_(casts_inside) {}

double StoredBytes::bytes(TensorId id, int bits) const {
  return static_cast<double>(graph_.tensors[id].num_elements()) * bits / kBitsPerByte;
}

double StoredBytes::stored(TensorId id) const { return bytes(id, storage_.tensor_bits[id]); }

double StoredBytes::cast(TensorId id) const { return bytes(id, bits_after_cast(storage_.tensor_bits[id])); }

double StoredBytes::read(NodeId position, TensorId id) const {
  const int bits = bits_loaded(position, id);
  return std::min(bytes(id, bits), bytes(views_.base[id], bits));
}

int StoredBytes::bits_loaded(NodeId position, TensorId id) const {
  const bool is_library = has(kLibraries, kinds_[position]);
  return casts_inside_ && !is_library ? storage_.tensor_bits[id] : bits_read(storage_, position, id);
}

// The size that the tensors have in memory over the size that the graph gives them: what a precision changes.
template <typename Bits>
double StoredBytes::share(const std::vector<TensorId>& ids, bool weights, Bits bits) const {
  double declared = 0;
  double stored = 0;
  for_each_distinct(ids, [&](TensorId id) {
    if (graph_.tensors[id].is_weight() != weights) return;
    const auto count = static_cast<double>(graph_.tensors[id].num_elements());
    declared += count * dtype_row(graph_.tensors[id].dtype).size_bits;
    stored += count * bits(id);
  });
  return declared > 0 ? stored / declared : 1.0;
}

StoredBytes::Moved StoredBytes::moved(NodeId position) const {
  const Node& node = graph_.nodes[position];
  const auto loaded = [&](TensorId id) { return bits_loaded(position, id); };
  const auto written = [&](TensorId id) { return storage_.tensor_bits[id]; };
  Moved result{.in = static_cast<double>(node.cost.bytes_in) * share(node.inputs, false, loaded),
               .out = static_cast<double>(node.cost.bytes_out) * share(node.outputs, false, written),
               .weights = static_cast<double>(node.cost.weight_bytes) * share(node.inputs, true, loaded)};
  if (operator_row(node.op).kind == CostKind::view && !node.inputs.empty() && node.inputs[0] != kAbsent) {
    result.out = result.in = stored(node.inputs[0]);  // it has to copy; free to the table
  }
  for_each_distinct(node.inputs, [&](TensorId id) {
    if (!graph_.tensors[id].is_weight()) result.in -= bytes(id, bits_loaded(position, id)) - read(position, id);
  });
  result.in = std::max(0.0, result.in);
  return result;
}

}  // namespace latpred
