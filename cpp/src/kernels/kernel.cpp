#include "latpred/kernel.h"

#include <algorithm>
#include <utility>

#include "anchor.h"
#include "composed_attention.h"
#include "extra_kernels.h"
#include "joined_row.h"
#include "kernel_rows.h"
#include "latpred/runtime.h"
#include "outside_readers.h"
#include "prepared_graph.h"
#include "stored_bytes.h"
#include "strided_inputs.h"
#include "traffic.h"

namespace latpred {
namespace {

// A view hands its producer's row on, so that a chain can be fused through it.
void see_through(const PreparedGraph& prepared, const Node& view, KernelRows& rows) {
  if (view.inputs.empty() || view.inputs[0] == kAbsent) return;
  const TensorId from = view.inputs[0];
  const bool is_whole = (prepared.num_uses[from] == 1 && view.outputs.size() == 1) || prepared.runtime.fuses_shared;
  for (const TensorId id : view.outputs) {
    if (id != kAbsent) rows.see_through(id, from, is_whole);
  }
}

bool is_composed_attention(const PreparedGraph& prepared, NodeId position) {
  return prepared.kinds[position] == CostKind::attention && prepared.runtime.strided_views &&
         is_composed(prepared.graph, prepared.graph.nodes[position]);
}

void add_composed(const PreparedGraph& prepared, NodeId position, KernelRows& rows) {
  const Node& node = prepared.graph.nodes[position];
  const ComposedAttention attention =
      composed_of(prepared.graph, node, prepared.views.strides, bits_read(prepared.storage, position, node.inputs[0]));
  for (Kernel& row : compose_attention(prepared.graph, position, prepared.runtime, attention)) {
    rows.add(std::move(row));
  }
  for (const TensorId id : node.outputs) {
    if (id != kAbsent) rows.close(id);
  }
}

// What a file keeps of dropout and of steps that do nothing says more of its exporter than of the model's code.
bool is_called(const Node& view) { return view.op != OperatorId::identity && view.op != OperatorId::dropout; }

// Operator by operator, in PyTorch's own kernels.
bool runs_pytorch(const Runtime& runtime) { return runtime.strided_views && !runtime.fuses; }

// A row for the node at `position` and what will join it.
RowId add_row(const PreparedGraph& prepared, NodeId position, KernelRows& rows) {
  const Node& node = prepared.graph.nodes[position];
  Kernel row{.name = node.name, .kind = prepared.kinds[position]};
  row.arithmetic = prepared.storage.arithmetic[position];
  row.repeat = node.repeat;
  describe_anchor(prepared.graph, node,
                  {.channels_last = prepared.channels_last,
                   .calls_pytorch = prepared.runtime.strided_views,
                   .is_pytorch = runs_pytorch(prepared.runtime),
                   .moves_channels_last = prepared.plan && prepared.plan->moves_channels_last},
                  row);
  // Of other frameworks' files an image costs the same in whatever order it is said to stand; a reshape that has to
  // copy reads what was transposed in any of them.
  const bool has_order = is_of_pytorch(prepared.graph) || operator_row(node.op).kind == CostKind::view;
  row.reads_across = runs_pytorch(prepared.runtime) && has_order &&
                     reads_across(prepared.graph, node, row.kind, prepared.views.strides);
  return rows.add(std::move(row));
}

// PyTorch unfolds the images of a batch one by one (ATen: im2col_out_cuda_template); folding takes them together.
void unfold_one_by_one(const PreparedGraph& prepared, const Node& node, Kernel& row) {
  if (node.op != OperatorId::im2col || !runs_pytorch(prepared.runtime)) return;
  const Shape& columns = prepared.graph.tensors[node.outputs[0]].shape;
  constexpr std::size_t kRankOfBatch = 3;  // [B, C * window, L]
  if (columns.size() != kRankOfBatch || columns[0] < 1) return;
  row.repeat *= columns[0];
  row.bytes_in /= static_cast<double>(columns[0]);
  row.bytes_out /= static_cast<double>(columns[0]);
}

// Whether all that `row` makes is computed again by its readers, or was written to its place in a long concatenation.
bool is_needless(const PreparedGraph& prepared, const Kernel& row) {
  if (row.members.empty()) return false;
  const auto is_unstored = [&](NodeId member) { return prepared.makes_unstored(member); };
  return (prepared.is_long_concatenation(row.members.back()) && row.bytes_in == 0 && row.bytes_out == 0) ||
         std::ranges::all_of(row.members, is_unstored);
}

bool has_concatenation(const PreparedGraph& prepared, const Kernel& row) {
  return std::ranges::any_of(row.members, [&](NodeId member) { return prepared.kinds[member] == CostKind::concat; });
}

}  // namespace

Kernels fuse(const Graph& graph, std::string_view runtime_name, std::string_view precision_name) {
  const Runtime& runtime_row = runtime(runtime_name);
  const Precision& precision = precision_of(runtime_row, precision_name);
  Kernels result{.runtime = std::string(runtime_row.name), .precision = std::string(precision.name)};
  PreparedGraph prepared = prepare(graph, runtime_row, precision);
  const StoredBytes bytes(graph, prepared.kinds, prepared.views, prepared.storage, prepared.plan.has_value());
  OutsideReaders outside(graph, prepared.kinds, prepared.readers, prepared.storage, prepared.repeated);
  KernelRows rows(graph.nodes.size(), graph.tensors.size());
  Traffic traffic(prepared, bytes, outside, rows);
  ExtraKernels extra(prepared, bytes, outside, traffic, rows);

  for (NodeId position = 0; position < static_cast<NodeId>(graph.nodes.size()); ++position) {
    const Node& node = graph.nodes[position];
    if (prepared.views.is_view[position]) {
      if (!prepared.plan) extra.add_before(position);  // a code generator converts in what reads the view
      see_through(prepared, node, rows);
      if (is_called(node)) result.num_views += node.repeat;
      continue;
    }
    extra.add_before(position);
    if (is_composed_attention(prepared, position)) {
      add_composed(prepared, position, rows);
      continue;
    }
    RowId row = joined_row(prepared, outside, position, rows);
    if (row == kNoRow) row = add_row(prepared, position, rows);
    traffic.add(row, position);
    rows.append(row, position, node);
    unfold_one_by_one(prepared, node, rows[row]);
    extra.add_behind(row, position);
    if (node.op == OperatorId::unknown) result.unknown_operators.push_back(node.source_operator);
  }

  if (prepared.plan) {
    for (RowId row = 0; row < rows.size(); ++row) {
      if (is_needless(prepared, rows[row])) rows.drop(row);
      rows[row].concatenates = rows[row].kind != CostKind::concat && has_concatenation(prepared, rows[row]);
    }
  }
  result.rows = std::move(rows).take();
  for (const Kernel& row : result.rows) result.num_launches += row.repeat;
  result.storage = std::move(prepared.storage);
  result.views = std::move(prepared.views);
  return result;
}

}  // namespace latpred
