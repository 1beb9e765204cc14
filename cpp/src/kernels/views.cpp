#include "latpred/views.h"

#include <array>
#include <numeric>
#include <optional>
#include <utility>

#include "latpred/operators.h"
#include "loop_order.h"
#include "strides.h"

namespace latpred {
namespace {

std::int64_t positive_axis(std::int64_t axis, std::size_t rank) {
  return axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
}

struct Viewer {
  const Graph& graph;
  const std::vector<Shape>& strides;
  const Node& node;

  [[nodiscard]] const Tensor& in() const { return graph.tensors[node.inputs[0]]; }
  [[nodiscard]] const Shape& in_strides() const { return strides[node.inputs[0]]; }
  [[nodiscard]] const Shape& out(std::size_t index) const { return graph.tensors[node.outputs[index]].shape; }
};

// Each returns the strides of output `index`, or nothing when the operator has to copy.
using ViewRule = std::optional<Shape> (*)(const Viewer&, std::size_t index);

std::optional<Shape> same(const Viewer& viewer, std::size_t) { return viewer.in_strides(); }

std::optional<Shape> reshape(const Viewer& viewer, std::size_t index) {
  return viewed_strides(viewer.in().shape, viewer.in_strides(), viewer.out(index));
}

std::optional<Shape> transpose(const Viewer& viewer, std::size_t) {
  const std::size_t rank = viewer.in().shape.size();
  Shape reversed(rank);
  std::iota(reversed.rbegin(), reversed.rend(), std::int64_t{0});
  const Shape permutation = viewer.node.attributes.integers("perm", reversed);
  if (permutation.size() != rank) return std::nullopt;
  Shape result;
  for (const std::int64_t axis : permutation) result.push_back(viewer.in_strides()[axis]);
  return result;
}

std::optional<Shape> expand(const Viewer& viewer, std::size_t index) {
  const Shape& from = viewer.in().shape;
  const Shape& to = viewer.out(index);
  if (to.size() < from.size()) return std::nullopt;
  Shape result(to.size(), 0);  // a repeated dimension has stride 0
  const std::size_t lead = to.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] == to[lead + i]) result[lead + i] = viewer.in_strides()[i];
  }
  return result;
}

// A slice, a split: every dimension keeps its stride. A step of two doubles one stride; that makes no difference to
// what can be viewed afterwards unless the dimension is merged, so it is read off the sizes where the step is stored.
std::optional<Shape> slice(const Viewer& viewer, std::size_t) { return viewer.in_strides(); }

// x[:, 0]: a gather at one known place is torch's select.
std::optional<Shape> select(const Viewer& viewer, std::size_t) {
  if (viewer.node.inputs.size() < 2 || viewer.node.inputs[1] == kAbsent) return std::nullopt;
  const Tensor& indices = viewer.graph.tensors[viewer.node.inputs[1]];
  if (!indices.shape.empty() || indices.kind != TensorKind::constant || viewer.in().is_weight()) return std::nullopt;
  Shape result = viewer.in_strides();
  const std::int64_t axis = positive_axis(viewer.node.attributes.integer("axis", 0), result.size());
  result.erase(result.begin() + axis);
  return result;
}

// x.contiguous() copies where there is something to do; x.clone() always.
std::optional<Shape> identity(const Viewer& viewer, std::size_t) {
  const Attributes& attributes = viewer.node.attributes;
  if (attributes.has("copy")) return std::nullopt;
  if (attributes.has("contiguous") && !is_contiguous(viewer.in().shape, viewer.in_strides())) return std::nullopt;
  return viewer.in_strides();
}

std::optional<Shape> select_one(const Viewer& viewer, std::size_t) {
  Shape result = viewer.in_strides();
  if (result.empty()) return std::nullopt;
  result.erase(result.begin() + positive_axis(viewer.node.attributes.integer("axis", 0), result.size()));
  return result;
}

std::optional<Shape> as_strided(const Viewer& viewer, std::size_t index) {
  const Shape given = viewer.node.attributes.integers("stride");
  return given.size() == viewer.out(index).size() ? given : contiguous_strides(viewer.out(index));
}

// The window is a last dimension with the stride of the one that it slides along.
std::optional<Shape> sliding_window(const Viewer& viewer, std::size_t) {
  Shape result = viewer.in_strides();
  if (result.empty()) return std::nullopt;
  std::int64_t& stride = result[positive_axis(viewer.node.attributes.integer("axis", 0), result.size())];
  const std::int64_t inner = stride;
  stride *= viewer.node.attributes.integer("step", 1);
  result.push_back(inner);
  return result;
}

struct ViewRow {
  OperatorId op;
  ViewRule rule;
};

constexpr std::array kViewRules{
    ViewRow{OperatorId::identity, identity},     ViewRow{OperatorId::dropout, same},
    ViewRow{OperatorId::bit_cast, same},         ViewRow{OperatorId::select, select_one},
    ViewRow{OperatorId::as_strided, as_strided}, ViewRow{OperatorId::sliding_window, sliding_window},
    ViewRow{OperatorId::reshape, reshape},       ViewRow{OperatorId::flatten, reshape},
    ViewRow{OperatorId::squeeze, reshape},       ViewRow{OperatorId::unsqueeze, reshape},
    ViewRow{OperatorId::transpose, transpose},   ViewRow{OperatorId::expand, expand},
    ViewRow{OperatorId::slice, slice},           ViewRow{OperatorId::split, slice},
    ViewRow{OperatorId::gather, select},
};

ViewRule find_rule(OperatorId op) {
  for (const ViewRow& row : kViewRules) {
    if (row.op == op) return row.rule;
  }
  return nullptr;
}

bool has_stored_filter(const Graph& graph, const Node& node) {
  return operator_row(node.op).kind == CostKind::conv && node.inputs.size() > 1 && node.inputs[1] != kAbsent &&
         graph.tensors[node.inputs[1]].is_weight();
}

ViewInfo nothing_viewed(const Graph& graph) {
  ViewInfo info;
  info.is_view.resize(graph.nodes.size());
  info.base.resize(graph.tensors.size());
  std::iota(info.base.begin(), info.base.end(), TensorId{0});
  return info;
}

}  // namespace

ViewInfo find_plain_views(const Graph& graph) {
  ViewInfo info = nothing_viewed(graph);
  for (std::size_t position = 0; position < graph.nodes.size(); ++position) {
    const Node& node = graph.nodes[position];
    if (cost_kind(graph, node) != CostKind::view) continue;
    info.is_view[position] = true;
    if (node.inputs.empty() || node.inputs[0] == kAbsent) continue;
    for (const TensorId id : node.outputs) {
      if (id != kAbsent) info.base[id] = info.base[node.inputs[0]];
    }
  }
  return info;
}

ViewInfo find_views(const Graph& graph, bool channels_last, Ordering ordering) {
  ViewInfo info = nothing_viewed(graph);
  std::vector<Shape>& strides = info.strides;
  strides.resize(graph.tensors.size());
  for (std::size_t id = 0; id < graph.tensors.size(); ++id) {
    const Tensor& tensor = graph.tensors[id];
    if (tensor.kind == TensorKind::activation) continue;
    strides[id] = channels_last && !tensor.is_weight() && tensor.shape.size() == kImageRank
                      ? channels_last_strides(tensor.shape)
                      : contiguous_strides(tensor.shape);
  }

  std::optional<LoopOrder> loop_order;
  if (ordering == Ordering::inductor) loop_order.emplace(graph);
  for (std::size_t position = 0; position < graph.nodes.size(); ++position) {
    const Node& node = graph.nodes[position];
    const ViewRule rule = find_rule(node.op);
    const Viewer viewer{graph, strides, node};
    std::vector<Shape> viewed(node.outputs.size());
    bool is_view = rule != nullptr && !node.inputs.empty() && node.inputs[0] != kAbsent;
    for (std::size_t index = 0; index < node.outputs.size() && is_view; ++index) {
      if (node.outputs[index] == kAbsent) continue;
      std::optional<Shape> result = rule(viewer, index);
      is_view = result.has_value();
      if (is_view) viewed[index] = std::move(*result);
    }
    info.is_view[position] = is_view;
    for (std::size_t index = 0; index < node.outputs.size(); ++index) {
      const TensorId id = node.outputs[index];
      if (id == kAbsent) continue;
      const Shape& shape = graph.tensors[id].shape;
      if (is_view) {
        strides[id] = std::move(viewed[index]);
      } else if (channels_last && has_stored_filter(graph, node) && shape.size() == kImageRank) {
        strides[id] = channels_last_strides(shape);
      } else {
        const auto generated = loop_order ? loop_order->result_strides(strides, node, index) : std::nullopt;
        strides[id] = generated ? *generated : result_strides(graph, strides, node, index);
      }
      if (is_view) info.base[id] = info.base[node.inputs[0]];
    }
  }
  return info;
}

}  // namespace latpred
