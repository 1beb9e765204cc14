#include "joined_row.h"

#include <algorithm>

#include "fusion_rules.h"
#include "kind_sets.h"

namespace latpred {
namespace {

// A node, and the rows that it may join.
struct Joining {
  const PreparedGraph& prepared;
  const OutsideReaders& outside;
  NodeId position;
  const Node& node;
  KernelRows& rows;

  struct Choice {
    RowId row = kNoRow;
    CostKind kind = CostKind::other;  // of the row with the node in it
  };

  // Behind the latest producer: the others are done by then, and it is what the runtime keeps in registers.
  [[nodiscard]] Choice latest_producer() const {
    Choice best;
    for (const TensorId id : node.inputs) {
      if (id == kAbsent || rows.tail_row(id) <= best.row || is_apart(id)) continue;
      if (prepared.num_uses[id] != 1 && !prepared.runtime.fuses_shared) continue;
      const Kernel& row = rows[rows.tail_row(id)];
      const auto fused = fused_kind(prepared.runtime.name, row.kind, prepared.kinds[position], is_repeated(id));
      if (fused && row.repeat == node.repeat) best = {rows.tail_row(id), *fused};
    }
    return best;
  }

  // Whether the node makes more elements than `id` has.
  [[nodiscard]] bool is_repeated(TensorId id) const {
    const auto& tensors = prepared.graph.tensors;
    return std::ranges::any_of(node.outputs, [&](TensorId output) {
      return output != kAbsent && tensors[output].num_elements() > tensors[id].num_elements();
    });
  }

  // Whether a code generator reads `id`, which a row ends in, in a kernel of its own whatever their kinds are.
  [[nodiscard]] bool is_apart(TensorId id) const {
    if (!prepared.plan) return false;
    const std::vector<NodeId>& members = rows[rows.tail_row(id)].members;
    return (!members.empty() && prepared.is_long_concatenation(members.back())) ||
           prepared.plan->is_apart(position, prepared.views.base[id]);
  }

  // Whether a code generator can compute `row` in the kernel of the node: a point-wise one that nobody else reads.
  [[nodiscard]] bool can_absorb(RowId row) const {
    const Kernel& kernel = rows[row];
    return has(kInlined, kernel.kind) && is_read_here_alone(rows.bias_of(row)) &&
           std::ranges::all_of(kernel.members, [&](NodeId member) {
             return std::ranges::all_of(prepared.graph.nodes[member].outputs,
                                        [&](TensorId id) { return is_read_here_alone(id); });
           });
  }

  [[nodiscard]] bool is_read_here_alone(TensorId id) const {
    if (id == kAbsent) return true;
    const std::vector<TensorId>& base = prepared.views.base;
    const auto is_there = [&](TensorId input) { return input != kAbsent && base[input] == base[id]; };
    return outside.count(base[id]) == std::ranges::count_if(node.inputs, is_there);
  }

  // A code generator computes the other point-wise groups that the node reads in `into` too: both branches in front of
  // an addition are one kernel.
  void absorb_producers(RowId into) const {
    for (const TensorId id : node.inputs) {
      if (id == kAbsent || rows.tail_row(id) == kNoRow || rows.tail_row(id) == into || is_apart(id)) continue;
      const RowId other = rows.tail_row(id);
      if (rows[other].repeat == node.repeat && can_absorb(other)) rows.absorb(other, into);
    }
  }
};

}  // namespace

RowId joined_row(const PreparedGraph& prepared, const OutsideReaders& outside, NodeId position, KernelRows& rows) {
  if (!prepared.runtime.fuses || prepared.is_long_concatenation(position)) return kNoRow;
  const Node& node = prepared.graph.nodes[position];
  const Joining joining{prepared, outside, position, node, rows};
  auto [row, kind] = joining.latest_producer();
  if (row == kNoRow) return kNoRow;
  // Rows run in order, and a node joins one only where everything that it reads is made by then, so no path leaves a
  // row and comes back: groups are convex.
  if (!rows.is_ready(node, row)) {
    if (!prepared.plan || !joining.can_absorb(row)) return kNoRow;
    // An activation that is multiplied by what a library makes after it is computed where that is done.
    row = rows.move_to_end(row);
  }
  if (prepared.plan) joining.absorb_producers(row);
  rows[row].kind = kind;
  return row;
}

}  // namespace latpred
