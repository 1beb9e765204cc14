#include "strides.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "latpred/operators.h"
#include "operators/layout.h"

namespace latpred {
namespace {

// Of an image in the order of its file, over memory in the other one.
Shape other_order_strides(const Attributes& attributes, const Shape& shape) {
  if (has_channels_last(attributes)) {
    return {shape[1] * shape[2] * shape[3], shape[2], 1, shape[1] * shape[2]};
  }
  return channels_last_strides(shape);
}

enum class Layout { contiguous, point_wise, memory_format, first_input };

// What an operator's kernel does with strided input, where it is not to write contiguous output.
Layout layout_of(OperatorId op) {
  switch (operator_row(op).kind) {
    case CostKind::unary:
    case CostKind::binary:
    case CostKind::cast:
      return Layout::point_wise;
    case CostKind::conv:
    case CostKind::pool:
    case CostKind::batch_norm:
    case CostKind::resize:
    case CostKind::concat:
      return Layout::memory_format;
    case CostKind::attention:
      return Layout::first_input;
    default:
      return Layout::contiguous;
  }
}

// The order in which TensorIterator lays an output's dimensions out: by the operands' strides, the first operand that
// can tell decides.
Shape ordered_strides(const Shape& shape, const std::vector<Shape>& operands) {
  return sorted_strides(shape, [&](std::size_t inner, std::size_t outer) {
    for (const Shape& strides : operands) {
      if (strides[inner] == 0 || strides[outer] == 0) continue;
      if (strides[inner] != strides[outer]) return strides[inner] > strides[outer] ? 1 : -1;
      if (shape[inner] > shape[outer]) return 1;
    }
    return 0;
  });
}

}  // namespace

Shape channels_last_strides(const Shape& shape) {
  return {shape[1] * shape[2] * shape[3], 1, shape[1] * shape[3], shape[1]};
}

Shape contiguous_strides(const Shape& shape) {
  Shape strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<std::int64_t>(shape[i], 1);
  }
  return strides;
}

bool is_row_major(const Shape& shape, const Shape& strides) {
  std::int64_t largest = 0;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] == 1 || strides[axis] == 0) continue;
    if (strides[axis] < largest) return false;
    largest = strides[axis];
  }
  return true;
}

namespace {

bool differ_in_sizes_of_one_only(const Shape& shape, const Shape& strides, const Shape& others) {
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] != 1 && strides[axis] != others[axis]) return false;
  }
  return true;
}

// Whether the strides grow in the order of `axes`, from the innermost one to the batch.
bool grows_along(const Shape& shape, const Shape& strides, const std::array<std::size_t, kImageRank>& axes) {
  const std::size_t innermost = axes.front();
  if (shape.size() != kImageRank || strides[innermost] == 0) return false;
  std::int64_t smallest = 0;
  for (const std::size_t axis : axes) {
    if (shape[axis] == 0 || strides[axis] < smallest) return false;
    // [N, 1, H, W] and [N, C, 1, 1] look like both; PyTorch takes them for contiguous.
    if (axis == 0 && smallest == strides[innermost]) return false;
    smallest = strides[axis] * std::max<std::int64_t>(shape[axis], 1);
  }
  return true;
}

}  // namespace

bool is_contiguous(const Shape& shape, const Shape& strides) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return true;
  return differ_in_sizes_of_one_only(shape, strides, contiguous_strides(shape));
}

bool is_read_across(const Shape& shape, const Shape& read, const Shape& written) {
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] > 1 && written[axis] == 1) return read[axis] > 1;
  }
  return false;
}

bool is_channels_last(const Shape& shape, const Shape& strides) { return grows_along(shape, strides, {1, 3, 2, 0}); }

std::vector<bool> channels_last_tensors(const Graph& graph, const std::vector<Shape>& strides) {
  std::vector<bool> found(graph.tensors.size());
  for (std::size_t id = 0; id < found.size(); ++id) {
    const Tensor& tensor = graph.tensors[id];
    found[id] = !tensor.is_weight() && is_channels_last(tensor.shape, strides[id]);
  }
  return found;
}

bool is_dense_channels_last(const Shape& shape, const Shape& strides) {
  return is_channels_last(shape, strides) && differ_in_sizes_of_one_only(shape, strides, channels_last_strides(shape));
}

bool is_in_other_order(const Attributes& attributes, const Shape& shape, const Shape& strides) {
  if (!has_channels_last(attributes)) return is_channels_last(shape, strides);
  return grows_along(shape, strides, {2, 1, 3, 0});
}

// Every wanted dimension must lie inside one chunk of evenly strided old dimensions.
std::optional<Shape> viewed_strides(const Shape& shape, const Shape& strides, const Shape& wanted) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return contiguous_strides(wanted);
  Shape result(wanted.size());
  std::int64_t chunk_stride = strides.empty() ? 1 : strides.back();
  std::int64_t old_count = 1;
  std::int64_t new_count = 1;
  std::int64_t position = static_cast<std::int64_t>(wanted.size()) - 1;
  for (std::int64_t i = static_cast<std::int64_t>(shape.size()) - 1; i >= 0; --i) {
    old_count *= shape[i];
    const bool chunk_ends = i == 0 || (shape[i - 1] != 1 && strides[i - 1] != old_count * chunk_stride);
    if (!chunk_ends) continue;
    while (position >= 0 && (new_count < old_count || wanted[position] == 1)) {
      result[position] = new_count * chunk_stride;
      new_count *= wanted[position];
      --position;
    }
    if (new_count != old_count) return std::nullopt;
    if (i > 0) {
      chunk_stride = strides[i - 1];
      old_count = 1;
      new_count = 1;
    }
  }
  for (; position >= 0; --position) {  // leading ones of a scalar seen as [1, 1]
    if (wanted[position] != 1) return std::nullopt;
    result[position] = 1;
  }
  return result;
}

Shape broadcast_strides(const Shape& from, const Shape& strides, const Shape& to) {
  Shape result(to.size(), 0);
  const std::size_t lead = to.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] == to[lead + i] || from[i] != 1) result[lead + i] = strides[i];
  }
  return result;
}

Shape sorted_strides(const Shape& shape, const IsWrongOrder& is_wrong_order) {
  std::vector<std::size_t> order(shape.size());  // innermost first
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  for (std::size_t i = 1; i < order.size(); ++i) {
    std::size_t moved = i;
    for (std::size_t j = i; j-- > 0;) {
      const int comparison = is_wrong_order(order[j], order[moved]);
      if (comparison < 0) break;
      if (comparison > 0) {
        std::swap(order[j], order[moved]);
        moved = j;
      }
    }
  }
  Shape result(shape.size());
  std::int64_t stride = 1;
  for (const std::size_t axis : order) {
    result[axis] = stride;
    stride *= shape[axis];
  }
  return result;
}

Shape result_strides(const Graph& graph, const std::vector<Shape>& strides, const Node& node, std::size_t index) {
  const Shape& shape = graph.tensors[node.outputs[index]].shape;
  const Layout layout = layout_of(node.op);
  if (layout == Layout::contiguous || node.inputs.empty() || node.inputs[0] == kAbsent)
    return contiguous_strides(shape);

  const auto input_shape = [&](TensorId id) -> const Shape& { return graph.tensors[id].shape; };
  if (layout == Layout::memory_format) {
    // A concatenation keeps the other order where every input has it.
    const std::size_t num_asked = node.op == OperatorId::concat ? node.inputs.size() : 1;
    const bool all_other = std::all_of(
        node.inputs.begin(), node.inputs.begin() + static_cast<std::ptrdiff_t>(num_asked),
        [&](TensorId id) { return id != kAbsent && is_in_other_order(node.attributes, input_shape(id), strides[id]); });
    return all_other && shape.size() == kImageRank ? other_order_strides(node.attributes, shape)
                                                   : contiguous_strides(shape);
  }

  std::vector<Shape> operands;
  bool all_contiguous = true;
  const std::size_t num_asked = layout == Layout::first_input ? 1 : node.inputs.size();
  for (std::size_t i = 0; i < num_asked; ++i) {
    const TensorId id = node.inputs[i];
    if (id == kAbsent || input_shape(id).size() > shape.size()) continue;
    if (is_contiguous(input_shape(id), strides[id])) continue;
    all_contiguous = false;
  }
  if (all_contiguous) return contiguous_strides(shape);
  for (std::size_t i = 0; i < num_asked; ++i) {
    const TensorId id = node.inputs[i];
    if (id == kAbsent || input_shape(id).size() > shape.size()) continue;
    operands.push_back(broadcast_strides(input_shape(id), strides[id], shape));
  }
  return ordered_strides(shape, operands);
}

}  // namespace latpred
