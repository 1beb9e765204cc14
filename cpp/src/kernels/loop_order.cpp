#include "loop_order.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kind_sets.h"
#include "realize_thresholds.h"
#include "stored_bytes.h"
#include "strides.h"

namespace latpred {
namespace {

constexpr int kUsesOfANorm = 2;  // its statistics', and its own
// They copy, each axis from the same one.
constexpr std::array kAlongAxes{OperatorId::pad, OperatorId::roll, OperatorId::flip};

// How far apart in memory neighbours along each axis of `to` are that is computed from `from` by a reshape, at the
// start of that axis: it may not be the same everywhere.
Shape strides_behind_reshape(const Shape& from, const Shape& strides, const Shape& to) {
  Shape result = contiguous_strides(to);
  for (std::int64_t& stride : result) {
    std::int64_t left = stride;
    stride = 0;
    for (std::size_t axis = from.size(); axis-- > 0 && left > 0;) {
      const std::int64_t size = std::max<std::int64_t>(from[axis], 1);
      stride += left % size * strides[axis];
      left /= size;
    }
  }
  return result;
}

}  // namespace

LoopOrder::LoopOrder(const Graph& graph)
    : graph_(graph), reads_(graph.tensors.size()), num_users_(graph.tensors.size()) {
  for (const Node& node : graph.nodes) {
    const bool normalises = has(kNormalising, operator_row(node.op).kind);
    for_each_distinct(node.inputs, [&](TensorId id) { num_users_[id] += normalises ? kUsesOfANorm : 1; });
  }
}

bool LoopOrder::is_written(TensorId id, std::size_t num_reads) const {
  return num_reads > (num_users_[id] > 1 ? kMostReadsOfShared : kMostReads);
}

std::optional<Shape> LoopOrder::result_strides(const std::vector<Shape>& strides, const Node& node, std::size_t index) {
  const CostKind kind = operator_row(node.op).kind;
  const bool reshapes = kind == CostKind::view;  // that copies
  const bool moves = std::ranges::find(kAlongAxes, node.op) != kAlongAxes.end();
  if (!has(kPointwise | kNormalising, kind) && !reshapes && !moves) return std::nullopt;
  const TensorId made = node.outputs[index];
  const Shape& shape = graph_.tensors[made].shape;
  std::vector<Read> reads;
  const auto add = [&](TensorId id, const Shape& from, const Shape& in_strides) {
    if (!reshapes && from.size() > shape.size()) return;
    Shape walked =
        reshapes ? strides_behind_reshape(from, in_strides, shape) : broadcast_strides(from, in_strides, shape);
    const auto is_same = [&](const Read& read) { return read.id == id && read.strides == walked; };
    if (std::ranges::none_of(reads, is_same)) reads.push_back({id, std::move(walked)});
  };
  const std::size_t most_read = has(kPointwise, kind) ? node.inputs.size() : 1;  // others are weights and sizes
  for (std::size_t i = 0; i < std::min(most_read, node.inputs.size()); ++i) {
    const TensorId id = node.inputs[i];
    if (id == kAbsent) continue;
    const Shape& from = graph_.tensors[id].shape;
    if (reads_[id].empty()) add(id, from, strides[id]);
    for (const Read& read : reads_[id]) add(read.id, from, read.strides);
  }
  Shape result = sorted_strides(shape, [&](std::size_t inner, std::size_t outer) {
    if (shape[inner] == 1 || shape[outer] == 1) return 0;
    int wrong = 0;
    for (const Read& read : reads) {
      const std::int64_t inside = read.strides[inner];
      const std::int64_t outside = read.strides[outer];
      wrong += static_cast<int>(inside == 0 || outside < inside) - static_cast<int>(outside == 0 || inside < outside);
    }
    return wrong != 0 ? wrong : (inner < outer ? 1 : -1);
  });
  if (!is_written(made, reads.size())) reads_[made] = std::move(reads);
  return result;
}

}  // namespace latpred
