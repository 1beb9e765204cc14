#include "kernel_rows.h"

#include <algorithm>
#include <utility>

#include "anchor.h"
#include "latpred/text.h"

namespace latpred {

KernelRows::KernelRows(std::size_t num_nodes, std::size_t num_tensors)
    : tail_rows_(num_tensors, kNoRow), producer_rows_(num_tensors, kNoRow), reads_(num_tensors) {
  rows_.reserve(num_nodes);
  biases_.reserve(num_nodes);
}

bool KernelRows::is_ready(const Node& node, RowId row) const {
  return std::ranges::all_of(node.inputs, [&](TensorId id) { return id == kAbsent || producer_rows_[id] <= row; });
}

RowId KernelRows::add(Kernel&& kernel) {
  rows_.push_back(std::move(kernel));
  biases_.push_back(kAbsent);
  return size() - 1;
}

void KernelRows::add_bias(Kernel&& kernel, TensorId id) {
  tail_rows_[id] = producer_rows_[id] = add(std::move(kernel));
  biases_.back() = id;
}

void KernelRows::append(RowId row, NodeId position, const Node& node) {
  Kernel& kernel = rows_[row];
  if (!is_empty(row)) kernel.name += concat("+", node.name);
  kernel.members.push_back(position);
  kernel.macs += node.cost.macs;
  kernel.flops += node.cost.flops * executed_share(kernel, node);
  for (const TensorId id : node.outputs) {
    if (id != kAbsent) tail_rows_[id] = producer_rows_[id] = row;
  }
}

void KernelRows::see_through(TensorId view, TensorId from, bool is_whole) {
  reads_.see_through(view, from);
  tail_rows_[view] = is_whole ? tail_rows_[from] : kNoRow;
  producer_rows_[view] = producer_rows_[from];
}

RowId KernelRows::move_to_end(RowId row) {
  Kernel kernel = std::move(rows_[row]);
  const RowId end = add(std::move(kernel));
  std::swap(biases_[row], biases_[end]);
  reads_.merge(row, end);
  rename(row, end);
  return end;
}

void KernelRows::absorb(RowId from, RowId into) {
  const Kernel gone = std::move(rows_[from]);
  Kernel& kept = rows_[into];
  kept.name = concat(gone.name, "+", kept.name);
  kept.members.insert(kept.members.begin(), gone.members.begin(), gone.members.end());
  std::ranges::sort(kept.members);
  kept.macs += gone.macs;
  kept.flops += gone.flops;
  kept.bytes_in += gone.bytes_in;
  kept.bytes_out += gone.bytes_out;
  kept.weight_bytes += gone.weight_bytes;
  kept.bytes_in = std::max(0.0, kept.bytes_in - reads_.merge(from, into));  // what both read
  rename(from, into);
}

void KernelRows::rename(RowId from, RowId to) {
  std::ranges::replace(tail_rows_, from, to);
  std::ranges::replace(producer_rows_, from, to);
  drop(from);
}

std::vector<Kernel> KernelRows::take() && {
  if (dropped_.empty()) return std::move(rows_);
  std::vector<bool> is_dropped(rows_.size(), false);
  for (const RowId row : dropped_) is_dropped[row] = true;
  std::vector<Kernel> kept;
  kept.reserve(rows_.size());
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    if (!is_dropped[row]) kept.push_back(std::move(rows_[row]));
  }
  return kept;
}

}  // namespace latpred
