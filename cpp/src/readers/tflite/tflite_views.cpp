// Operators that change how a tensor is joined or laid out.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "readers/tflite/tflite_lowering.h"

namespace latpred::readers {
namespace {

using Settings = TfliteNode::Settings;
using Sizes = std::vector<std::int64_t>;

// x[:i], an item, x[i + 1:] joined again: what the converter makes of writing one item of a list of tensors. Which item
// changes from turn to turn of a loop, the sizes do not.
bool writes_one_item(TfliteNode& node, std::int64_t axis) {
  constexpr int kSlice = 65;
  if (axis != 0 || node.num_inputs() != 3) return false;
  const auto before = node.maker(0);
  const auto behind = node.maker(2);
  if (!before || !behind || before->code != kSlice || behind->code != kSlice || before->inputs.size() != 3 ||
      behind->inputs.size() != 3 || before->inputs[0] != behind->inputs[0]) {
    return false;
  }
  const auto is_filled_with = [&](std::int32_t tensor, std::int64_t number) {
    const auto value = node.lowering().value_of(node.scope(), tensor);
    return value != nullptr && !value->integers.empty() &&
           std::all_of(value->integers.begin(), value->integers.end(),
                       [number](std::int64_t integer) { return integer == number; });
  };
  const auto item = node.shape(1);
  return is_filled_with(before->inputs[1], 0) && is_filled_with(behind->inputs[2], kUnknownSize) && item &&
         !item->empty() && item->front() == 1;
}

void concatenation(TfliteNode& node, OperatorId op) {
  const std::int64_t axis = node.option<std::int32_t>(0, 0);
  if (!writes_one_item(node, axis)) return node.finish(op, node.inputs(), {{"axis", axis}});
  const auto slice = node.maker(2);
  const VariableId whole = node.lowering().variable_of(node.scope(), slice->inputs[0]);
  const VariableId place = node.lowering().variable_of(node.scope(), slice->inputs[1]);
  node.finish(OperatorId::tensor_scatter, {whole, node.input(1), place});
}

// Whether nothing but sizes of 1 change their places and the first, a batch of 1, leaves its own: what the converter
// makes of a transposition as well.
bool may_transpose(const std::optional<Shape>& from, const std::optional<Shape>& to) {
  if (!from || !to || from->size() != to->size() || from->empty() || from->front() != 1 || to->front() == 1)
    return false;
  const auto larger = [](Shape shape) {
    std::erase(shape, 1);
    return shape;
  };
  return larger(*from) == larger(*to);
}

// The target stands in input 1, in older files in the options.
void reshape(TfliteNode& node, OperatorId op) {
  Settings settings{{"allowzero", std::int64_t{1}}};
  if (may_transpose(node.shape(0), node.output_shape(0))) settings.emplace_back("may_transpose", std::int64_t{1});
  if (node.has_input(1)) return node.finish(op, {node.input(0), node.input(1)}, settings);
  const auto target = node.option_list<std::int32_t>(0);
  settings.emplace_back("shape", Sizes(target.begin(), target.end()));
  node.finish(op, {node.input(0)}, settings);
}

void squeeze(TfliteNode& node, OperatorId op) {
  const auto listed = node.option_list<std::int32_t>(0);
  Sizes axes(listed.begin(), listed.end());
  // All of size 1, which a batch of 1 is not meant to be.
  const auto shape = node.shape(0);
  if (axes.empty() && shape) {
    for (std::size_t i = 1; i < shape->size(); ++i) {
      if ((*shape)[i] == 1) axes.push_back(static_cast<std::int64_t>(i));
    }
    const auto result = node.output_shape(0);
    if (result && result->size() + axes.size() + 1 == shape->size()) axes.insert(axes.begin(), 0);
  }
  if (axes.empty()) return node.finish(OperatorId::identity, {node.input(0)});
  node.finish(op, {node.input(0)}, {{"axes", axes}});
}

void expand_dims(TfliteNode& node, OperatorId op) { node.finish(op, {node.input(0), node.input(1)}); }

void transpose(TfliteNode& node, OperatorId op) {
  const auto order = node.integers(1);
  if (!order) return lower_as_declared(node, OperatorId::unknown);
  node.finish(op, {node.input(0)}, {{"perm", *order}});
}

// Borders [rank, 2] of the file, ONNX's [2 * rank].
void pad_as(TfliteNode& node, OperatorId op, const std::string& mode) {
  if (const auto borders = node.integers(1)) {
    Sizes pads;
    for (const std::size_t side : {0U, 1U}) {
      for (std::size_t i = side; i < borders->size(); i += 2) pads.push_back((*borders)[i]);
    }
    return node.finish(op, {node.input(0)}, {{"pads", pads}, {"mode", mode}});
  }
  const VariableId sides = node.part(OperatorId::transpose, {node.input(1)}, {{"perm", Sizes{1, 0}}});
  const VariableId pads = node.part(OperatorId::reshape, {sides}, {{"shape", Sizes{-1}}});
  node.finish(op, {node.input(0), pads}, {{"mode", mode}});
}

void pad(TfliteNode& node, OperatorId op) { pad_as(node, op, "constant"); }

void mirror_pad(TfliteNode& node, OperatorId op) { pad_as(node, op, "reflect"); }

void gather(TfliteNode& node, OperatorId op) {
  const std::int64_t axis = node.option<std::int32_t>(0, 0);
  const std::int64_t batch = node.option<std::int32_t>(1, 0);
  if (batch == 0) return node.finish(op, {node.input(0), node.input(1)}, {{"axis", axis}});
  if (batch != axis) return lower_as_declared(node, OperatorId::unknown);
  // Rows of each item's own.
  const VariableId indices = node.part(OperatorId::unsqueeze, {node.input(1)}, {{"axes", Sizes{-1}}});
  node.finish(OperatorId::gather_nd, {node.input(0), indices}, {{"batch_dims", batch}});
}

// Inputs indices, updates, the result's shape.
void scatter_nd(TfliteNode& node, OperatorId op) {
  const VariableId zeros = node.part(OperatorId::constant_of_shape, {node.input(2)},
                                     {{"value_dtype", static_cast<std::int64_t>(node.output_dtype(0))}});
  node.finish(op, {zeros, node.input(0), node.input(1)});
}

// Inputs x, update, where it starts.
void dynamic_update_slice(TfliteNode& node, OperatorId op) {
  node.finish(op, {node.input(0), node.input(1), node.input(2)});
}

void pack(TfliteNode& node, OperatorId) {
  const std::int64_t axis = node.option<std::int32_t>(1, 0);
  std::vector<VariableId> parts;
  for (std::size_t i = 0; i < node.num_inputs(); ++i) {
    parts.push_back(node.part(OperatorId::unsqueeze, {node.input(i)}, {{"axes", Sizes{axis}}}));
  }
  node.finish(OperatorId::concat, std::move(parts), {{"axis", axis}});
}

void tile(TfliteNode& node, OperatorId op) { node.finish(op, {node.input(0), node.input(1)}); }

// Inputs dims, value.
void fill(TfliteNode& node, OperatorId op) { node.finish(op, {node.input(1), node.input(0)}); }

void rank(TfliteNode& node, OperatorId op) {
  const auto shape = node.shape(0);
  if (!shape) node.fail("asks for the rank of a tensor that the file does not declare");
  node.finish(op, {}, {{"value_int", static_cast<std::int64_t>(shape->size())}});
}

void range(TfliteNode& node, OperatorId op) { node.finish(op, {node.input(0), node.input(1), node.input(2)}); }

void reverse(TfliteNode& node, OperatorId op) { node.finish(op, {node.input(0), node.input(1)}); }

void reverse_sequence(TfliteNode& node, OperatorId op) {
  node.finish(op, {node.input(0), node.input(1)},
              {{"time_axis", static_cast<std::int64_t>(node.option<std::int32_t>(0, 0))},
               {"batch_axis", static_cast<std::int64_t>(node.option<std::int32_t>(1, 0))}});
}

// Inputs x, blocks, borders.
void between_space_and_batch(TfliteNode& node, OperatorId op) {
  node.finish(op, {node.input(0), node.input(1), node.input(2)});
}

}  // namespace

const std::vector<TfliteOperatorRow>& tflite_views() {
  static const std::vector<TfliteOperatorRow> rows{
      {2, "CONCATENATION", OperatorId::concat, concatenation, 1},
      {22, "RESHAPE", OperatorId::reshape, reshape},
      {34, "PAD", OperatorId::pad, pad},
      {36, "GATHER", OperatorId::gather, gather},
      {37, "BATCH_TO_SPACE_ND", OperatorId::batch_to_space, between_space_and_batch},
      {38, "SPACE_TO_BATCH_ND", OperatorId::space_to_batch, between_space_and_batch},
      {39, "TRANSPOSE", OperatorId::transpose, transpose},
      {43, "SQUEEZE", OperatorId::squeeze, squeeze},
      {60, "PADV2", OperatorId::pad, pad},
      {69, "TILE", OperatorId::tile, tile},
      {70, "EXPAND_DIMS", OperatorId::unsqueeze, expand_dims},
      {77, "SHAPE", OperatorId::shape, [](TfliteNode& node, OperatorId op) { node.finish(op, {node.input(0)}); }},
      {83, "PACK", OperatorId::concat, pack},
      {94, "FILL", OperatorId::expand, fill},
      {96, "RANGE", OperatorId::range, range},
      {100, "MIRROR_PAD", OperatorId::pad, mirror_pad},
      {105, "REVERSE_V2", OperatorId::flip, reverse},
      {107, "GATHER_ND", OperatorId::gather_nd, lower_plain},
      {110, "RANK", OperatorId::constant, rank},
      {112, "REVERSE_SEQUENCE", OperatorId::reverse_sequence, reverse_sequence},
      {122, "SCATTER_ND", OperatorId::scatter_nd, scatter_nd},
      {130, "BROADCAST_TO", OperatorId::expand, tile},
      {151, "DYNAMIC_UPDATE_SLICE", OperatorId::tensor_scatter, dynamic_update_slice},
  };
  return rows;
}

}  // namespace latpred::readers
