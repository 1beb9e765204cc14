#include "strided_inputs.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "kind_sets.h"
#include "latpred/program.h"
#include "operators/products.h"
#include "strides.h"

namespace latpred {
namespace {

constexpr std::size_t kBatchedRank = 3;

// They call contiguous() on what they read.
constexpr Kinds kContiguousReaders = of(CostKind::layer_norm, CostKind::softmax, CostKind::group_norm);
// They read either memory format without gaps, and nothing else.
constexpr Kinds kImageReaders = kConvolutions | of(CostKind::pool);

std::int64_t count(Shape::const_iterator begin, Shape::const_iterator end) {
  return std::accumulate(begin, end, std::int64_t{1}, std::multiplies<>());
}

bool is_folded_by_a_copy(const Shape& shape, const Shape& strides, bool narrows_weight) {
  // A weight that is a parameter folds everything into rows; the copy that autocast made of it does not.
  if (narrows_weight) return is_copied_for_product(shape, strides);
  return !viewed_strides(shape, strides, {count(shape.begin(), shape.end() - 1), shape.back()}).has_value();
}

// Filters that lie with their channels innermost ask the same of the image.
bool reads_image(const Graph& graph, const Node& node, const std::vector<Shape>& strides, bool filters_channels_last) {
  const Shape& shape = graph.tensors[node.inputs[0]].shape;
  const Shape& lies = strides[node.inputs[0]];
  const bool has_filter = node.inputs.size() > 1 && node.inputs[1] != kAbsent;
  if (filters_channels_last && has_filter && graph.tensors[node.inputs[1]].is_weight() && shape.size() == kImageRank) {
    const bool is_either = shape[1] == 1 || shape[2] * shape[3] == 1;
    return is_dense_channels_last(shape, lies) || (is_either && is_contiguous(shape, lies));
  }
  return is_contiguous(shape, lies) || is_dense_channels_last(shape, lies);
}

bool is_strided_linear(const Graph& graph, const Node& node, const std::vector<Shape>& strides) {
  if (node.op != OperatorId::linear || node.inputs.empty() || node.inputs[0] == kAbsent) return false;
  const Shape& shape = graph.tensors[node.inputs[0]].shape;
  return shape.size() >= kBatchedRank && !is_contiguous(shape, strides[node.inputs[0]]);
}

bool has_bias(const Node& node) { return node.inputs.size() > 2 && node.inputs[2] != kAbsent; }

}  // namespace

bool is_of_pytorch(const Graph& graph) {
  return graph.program != nullptr && graph.program->source.framework == "pytorch";
}

bool is_copied_for_product(const Shape& shape, const Shape& strides) {
  const Shape merged{count(shape.begin(), shape.end() - 2), shape[shape.size() - 2], shape.back()};
  const auto seen = viewed_strides(shape, strides, merged);
  if (!seen) return true;
  const auto is_dense = [&](std::size_t inner, std::size_t outer) {
    return ((*seen)[inner] == 1 || merged[inner] == 1) && (*seen)[outer] >= merged[inner];
  };
  return !is_dense(2, 1) && !is_dense(1, 2);
}

std::vector<TensorId> copied_inputs(const Graph& graph, const Node& node, CostKind kind,
                                    const std::vector<Shape>& strides, StoredWeights weights) {
  std::vector<TensorId> result;
  if (node.inputs.empty() || node.inputs[0] == kAbsent) return result;
  const TensorId first = node.inputs[0];
  const Shape& shape = graph.tensors[first].shape;
  if (has(kContiguousReaders, kind)) {
    if (!is_contiguous(shape, strides[first])) result.push_back(first);
  } else if (has(kImageReaders, kind)) {
    if (!reads_image(graph, node, strides, weights.channels_last)) result.push_back(first);
  } else if (is_strided_linear(graph, node, strides)) {
    if (is_folded_by_a_copy(shape, strides[first], weights.narrowed)) result.push_back(first);
  } else if (node.op == OperatorId::matmul && kind == CostKind::batch_matmul) {
    for (const TensorId id : node.inputs) {
      if (id == kAbsent || graph.tensors[id].is_weight() || graph.tensors[id].shape.size() < kBatchedRank) continue;
      if (is_copied_for_product(graph.tensors[id].shape, strides[id])) result.push_back(id);
    }
  }
  return result;
}

bool reads_across(const Graph& graph, const Node& node, CostKind kind, const std::vector<Shape>& strides) {
  if (!has(kPointwise | of(CostKind::copy), kind) || node.outputs.empty() || node.outputs[0] == kAbsent) return false;
  const Shape& made = graph.tensors[node.outputs[0]].shape;
  return std::ranges::any_of(node.inputs, [&](TensorId id) {
    if (id == kAbsent || graph.tensors[id].is_weight()) return false;
    const Shape& shape = graph.tensors[id].shape;
    if (shape == made) return is_read_across(shape, strides[id], strides[node.outputs[0]]);
    // Another shape of the same elements is written in their order.
    return kind == CostKind::copy && is_read_across(shape, strides[id], contiguous_strides(shape));
  });
}

bool adds_bias_apart(const Graph& graph, const Node& node, const std::vector<Shape>& strides) {
  return is_strided_linear(graph, node, strides) && has_bias(node);
}

bool adds_bias_behind(const Node& node, CostKind kind, bool channels_last) {
  if (node.op != OperatorId::conv && node.op != OperatorId::conv_transpose) return false;
  return has_bias(node) && (kind != CostKind::conv_depthwise || channels_last);
}

bool traces_bias_apart(const Graph& graph, const Node& node, CostKind kind) {
  if (node.op == OperatorId::linear) {
    return has_bias(node) && node.inputs[0] != kAbsent && graph.tensors[node.inputs[0]].shape.size() > kBatchedRank;
  }
  constexpr bool kChannelsLast = true;  // of a depth-wise one too: no kernel of ATen's own adds it
  return adds_bias_behind(node, kind, kChannelsLast);
}

}  // namespace latpred
