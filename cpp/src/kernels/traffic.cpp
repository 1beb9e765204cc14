#include "traffic.h"

#include <algorithm>

namespace latpred {
namespace {

double less(double bytes, double saved) { return std::max(0.0, bytes - saved); }

}  // namespace

void Traffic::add(RowId row, NodeId position) {
  const Node& node = prepared_.graph.nodes[position];
  StoredBytes::Moved moved = bytes_.moved(position);
  if (!rows_.is_empty(row)) {
    moved.in = less(moved.in, made_inside(row, position));
    keep_inside(row, node);
  }
  if (prepared_.plan) moved.in = less(moved.in, loaded_already(row, position));
  if (prepared_.is_long_concatenation(position)) {
    const double in_place = made_in_place(row, node);
    moved.in = less(moved.in, in_place);
    moved.out = less(moved.out, in_place);
  }
  Kernel& kernel = rows_[row];
  kernel.bytes_in += moved.in;
  if (!prepared_.makes_unstored(position)) kernel.bytes_out += moved.out;
  kernel.weight_bytes += moved.weights;
}

void Traffic::add_narrow_copy(NodeId position, TensorId id) {
  const RowId row = rows_.tail_row(id);
  rows_[row].bytes_out += bytes_.read(position, id);
  leave_unread(row, prepared_.views.base[id]);
}

// What stays inside the row is not read again,
double Traffic::made_inside(RowId row, NodeId position) const {
  double bytes = 0;
  for_each_distinct(prepared_.graph.nodes[position].inputs, [&](TensorId id) {
    if (rows_.tail_row(id) == row) bytes += bytes_.read(position, id);
  });
  return bytes;
}

// nor written, unless somebody outside reads it too.
void Traffic::keep_inside(RowId row, const Node& node) {
  for (const TensorId id : node.inputs) {
    if (id == kAbsent || rows_.tail_row(id) != row) continue;
    const TensorId memory = prepared_.views.base[id];
    outside_.join(memory);
    leave_unread(row, memory);
    if (!prepared_.repeated.is_unstored(memory)) continue;
    for (const TensorId source : prepared_.repeated.sources(memory)) {
      if (rows_.tail_row(source) != row) continue;
      outside_.join_source(source);
      leave_unread(row, source);
    }
  }
}

// `row` does not write what nobody outside reads as it is.
void Traffic::leave_unread(RowId row, TensorId memory) {
  if (prepared_.repeated.is_unstored(memory) || !outside_.take_unread(memory)) return;
  rows_[row].bytes_out = less(rows_[row].bytes_out, bytes_.stored(memory));
}

// Bytes of its inputs that `position` need not read for `row`, which has them; less what it reads instead.
double Traffic::loaded_already(RowId row, NodeId position) {
  double bytes = 0;
  for_each_distinct(prepared_.graph.nodes[position].inputs, [&](TensorId id) {
    if (prepared_.graph.tensors[id].is_weight() || rows_.tail_row(id) == row) return;
    const TensorId memory = prepared_.views.base[id];
    if (!prepared_.repeated.is_unstored(memory)) {
      bytes += rows_.note_read(row, id, bytes_.read(position, id));
      return;
    }
    bytes += bytes_.read(position, id);
    for (const TensorId source : prepared_.repeated.sources(memory)) {
      if (prepared_.graph.tensors[source].is_weight() || rows_.tail_row(source) == row) continue;
      const double read = bytes_.stored(source);
      bytes -= read - rows_.note_read(row, source, read);
    }
  });
  return bytes;
}

// Of what a long concatenation puts together: bytes that generated kernels write to their place themselves.
double Traffic::made_in_place(RowId row, const Node& node) const {
  double bytes = 0;
  for (const TensorId id : node.inputs) {
    if (id == kAbsent || rows_.tail_row(id) == row || !rows_.is_generated(id)) continue;
    if (outside_.count(prepared_.views.base[id]) == 1) bytes += bytes_.stored(id);
  }
  return bytes;
}

}  // namespace latpred
