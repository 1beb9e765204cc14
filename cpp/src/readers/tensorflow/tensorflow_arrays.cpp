#include <string>

#include "readers/tensorflow/tensorflow_operators.h"

// What makes, reshapes and joins tensors.
namespace latpred::readers::tensorflow {
namespace {

void alias(Node& node) { node.alias(node.input(0)); }

void alias_all(Node& node) { node.set_results(node.inputs()); }

void random(Node& node) {
  node.result(row_of(node).op, {node.input(0)}, settings({{"dtype", static_cast<std::int64_t>(node.dtype("dtype"))}}));
}

void shape_of(Node& node) { node.result(row_of(node).op, {node.input(0)}); }

void shapes_of(Node& node) {
  std::vector<VariableId> results;
  for (const VariableId input : node.inputs()) results.push_back(node.part(OperatorId::shape, {input}));
  node.set_results(std::move(results));
}

void rank(Node& node) {
  if (const auto known = node.sizes_of(0)) {
    node.alias(node.scalar_constant(DType::int32, static_cast<double>(known->size())));
    return;
  }
  const VariableId sizes = node.part(OperatorId::shape, {node.input(0)});
  node.result(OperatorId::size, {sizes});
}

// A target of 0 is an empty dimension here, not a kept one.
void reshape(Node& node) {
  node.result(OperatorId::reshape, {node.input(0), node.input(1)}, settings({{"allowzero", std::int64_t{1}}}));
}

void expand_dims(Node& node) {
  node.result(OperatorId::unsqueeze, {node.input(0)}, settings({{"axes", node.integers_of(1, "axis")}}));
}

void squeeze(Node& node) {
  const std::vector<std::int64_t> axes = node.integers("squeeze_dims");
  node.result(OperatorId::squeeze, {node.input(0)}, axes.empty() ? Attributes{} : settings({{"axes", axes}}));
}

void transpose(Node& node) {
  node.result(OperatorId::transpose, {node.input(0)}, settings({{"perm", node.integers_of(1, "order")}}));
}

void broadcast_to(Node& node) { node.result(OperatorId::expand, {node.input(0), node.input(1)}); }

// Shapes that broadcast against each other: the larger size of each dimension.
void broadcast_shapes(Node& node) { node.result(OperatorId::max, {node.input(0), node.input(1)}); }

void tile(Node& node) { node.result(OperatorId::tile, {node.input(0), node.input(1)}); }

// A pair for each dimension -> all starts, then all ends.
void pad(Node& node) {
  VariableId pads = kAbsent;
  if (const auto known = node.known(1)) {
    std::vector<std::int64_t> flat;
    for (const std::size_t first : {std::size_t{0}, std::size_t{1}}) {
      for (std::size_t i = first; i < known->size(); i += 2) flat.push_back((*known)[i]);
    }
    pads = node.integers_constant(flat);
  } else {
    const VariableId turned =
        node.part(OperatorId::transpose, {node.input(1)}, settings({{"perm", std::vector<std::int64_t>{1, 0}}}));
    pads = node.part(OperatorId::reshape, {turned, node.integers_constant({-1})});
  }
  Attributes attributes;
  if (node.op() == "MirrorPad") {
    attributes.set("mode", std::string(node.text("mode") == "REFLECT" ? "reflect" : "edge"));
  }
  std::vector<VariableId> inputs{node.input(0), pads};
  if (node.op() == "PadV2") inputs.push_back(node.input(2));
  node.result(OperatorId::pad, std::move(inputs), std::move(attributes));
}

// Axis last (ConcatV2) or first (Concat).
void concat_inputs(Node& node, std::size_t axis_at) {
  std::vector<VariableId> inputs = node.inputs();
  const std::int64_t axis = node.integer_of(axis_at, "axis");
  inputs.erase(inputs.begin() + static_cast<std::ptrdiff_t>(axis_at));
  if (inputs.empty()) node.fail("joins nothing");
  node.result(OperatorId::concat, std::move(inputs), settings({{"axis", axis}}));
}

void concat_v2(Node& node) {
  if (node.inputs().empty()) node.fail("joins nothing");
  concat_inputs(node, node.inputs().size() - 1);
}

void concat_v1(Node& node) { concat_inputs(node, 0); }

void pack(Node& node) {
  const std::int64_t axis = node.integer("axis");
  std::vector<VariableId> parts;
  for (const VariableId input : node.inputs()) {
    parts.push_back(node.part(OperatorId::unsqueeze, {input}, settings({{"axes", std::vector<std::int64_t>{axis}}})));
  }
  if (parts.empty()) node.fail("joins nothing");
  node.result(OperatorId::concat, std::move(parts), settings({{"axis", axis}}));
}

// Shape, value.
void fill(Node& node) { node.result(OperatorId::expand, {node.input(1), node.input(0)}); }

void like(Node& node) {
  const VariableId sizes = node.part(OperatorId::shape, {node.input(0)});
  const double value = node.op() == "OnesLike" ? 1 : 0;
  node.result(OperatorId::expand, {node.scalar_constant(node.dtype("T"), value), sizes});
}

void range(Node& node) { node.result(OperatorId::range, {node.input(0), node.input(1), node.input(2)}); }

void reverse(Node& node) {
  node.result(OperatorId::flip, {node.input(0)}, settings({{"axes", node.integers_of(1, "axes")}}));
}

void roll(Node& node) { node.result(OperatorId::roll, {node.input(0)}); }

void band_part(Node& node) { node.result(OperatorId::trilu, {node.input(0)}); }

const std::vector<OperatorRow> kArrays{
    {"Identity", OperatorId::identity, alias},
    {"StopGradient", OperatorId::identity, alias},
    {"PreventGradient", OperatorId::identity, alias},
    {"CheckNumerics", OperatorId::identity, alias},
    {"Snapshot", OperatorId::identity, alias},
    {"EnsureShape", OperatorId::identity, alias},
    {"PlaceholderWithDefault", OperatorId::identity, alias},
    {"ReadVariableOp", OperatorId::identity, alias},
    {"DebugIdentityV2", OperatorId::identity, alias},
    {"IdentityN", OperatorId::identity, alias_all},
    {"Shape", OperatorId::shape, shape_of},
    {"ShapeN", OperatorId::shape, shapes_of},
    {"Size", OperatorId::size, shape_of},
    {"Rank", OperatorId::size, rank},
    {"Reshape", OperatorId::reshape, reshape},
    {"ExpandDims", OperatorId::unsqueeze, expand_dims},
    {"Squeeze", OperatorId::squeeze, squeeze},
    {"Transpose", OperatorId::transpose, transpose},
    {"BroadcastTo", OperatorId::expand, broadcast_to},
    {"BroadcastArgs", OperatorId::max, broadcast_shapes},
    {"Tile", OperatorId::tile, tile},
    {"Pad", OperatorId::pad, pad},
    {"PadV2", OperatorId::pad, pad},
    {"MirrorPad", OperatorId::pad, pad},
    {"ConcatV2", OperatorId::concat, concat_v2},
    {"Concat", OperatorId::concat, concat_v1},
    {"Pack", OperatorId::concat, pack},
    {"Fill", OperatorId::expand, fill},
    {"ZerosLike", OperatorId::expand, like},
    {"OnesLike", OperatorId::expand, like},
    {"Range", OperatorId::range, range},
    {"ReverseV2", OperatorId::flip, reverse},
    {"Roll", OperatorId::roll, roll},
    {"MatrixBandPart", OperatorId::trilu, band_part},
    {"RandomUniform", OperatorId::random_uniform, random},
    {"RandomStandardNormal", OperatorId::random_normal, random},
    {"TruncatedNormal", OperatorId::random_normal, random},
};

}  // namespace

const std::vector<OperatorRow>& array_rows() { return kArrays; }

bool is_alias(std::string_view op) {
  const OperatorRow* const row = operator_row(op);
  return row != nullptr && row->convert == alias;
}

}  // namespace latpred::readers::tensorflow
