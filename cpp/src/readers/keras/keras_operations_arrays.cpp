#include <algorithm>
#include <limits>
#include <optional>

#include "latpred/text.h"
#include "readers/keras/keras_network.h"
#include "readers/keras/keras_operations.h"

// What reshapes, joins, cuts and picks tensors.
namespace latpred::readers::keras {
namespace {

Variables reshape_to(Call& call) {
  const Json* shape = find_setting(call, {"newshape", "shape"}, 1);
  if (shape == nullptr) call.unsupported("its shape is computed, which is not read");
  Shape target;
  for (const Json& size : shape->is_array() ? shape->array() : Json::Array{*shape}) {
    target.push_back(size.is_null() ? -1 : size.integer());
  }
  return {call.reshape(call.input(), target, "")};
}

Variables transpose(Call& call) {
  const Json* axes = find_setting(call, {"axes", "perm"}, 1);
  if (axes == nullptr) return {call.make(OperatorId::transpose, {call.input()})};
  return {call.transpose(call.input(), call.integers(*axes), "")};
}

Variables swapaxes(Call& call) {
  const std::size_t rank = call.rank(call.input());
  Shape order;
  for (std::size_t i = 0; i < rank; ++i) order.push_back(static_cast<std::int64_t>(i));
  std::swap(order[call.axis(integer_setting(call, {"axis1"}, 1, 0), rank)],
            order[call.axis(integer_setting(call, {"axis2"}, 2, 1), rank)]);
  return {call.transpose(call.input(), order, "")};
}

template <OperatorId kOp>
Variables with_axes(Call& call) {
  const Json* axes = find_setting(call, {"axis"}, 1);
  if (axes == nullptr) return {call.make(kOp, {call.input()})};
  return {call.make(kOp, {call.input()}, {{"axes", call.integers(*axes)}})};
}

Variables concatenate_inputs(Call& call) {
  return {call.make(OperatorId::concat, call.inputs(), {{"axis", integer_setting(call, {"axis"}, 1, 0)}})};
}

Variables stack(Call& call) {
  const std::int64_t axis = integer_setting(call, {"axis"}, 1, 0);
  Variables parts;
  for (const VariableId id : call.inputs()) {
    parts.push_back(call.make(OperatorId::unsqueeze, {id}, {{"axes", Shape{axis}}}, "unsqueeze"));
  }
  return {call.make(OperatorId::concat, parts, {{"axis", axis}})};
}

Variables split(Call& call) {
  const Json* parts = find_setting(call, {"indices_or_sections", "num_or_size_splits"}, 1);
  if (parts == nullptr || !parts->is_integer()) call.unsupported("a split at given places is not read");
  constexpr std::int64_t kMaxParts = 65536;
  if (parts->integer() < 1 || parts->integer() > kMaxParts) call.fail(concat("is split in ", parts->integer()));
  return call.make_several(OperatorId::split, {call.input()}, static_cast<std::size_t>(parts->integer()),
                           {{"axis", integer_setting(call, {"axis"}, 2, 0)}});
}

Variables cast(Call& call) {
  const Json* dtype = find_setting(call, {"dtype"}, 1);
  if (dtype == nullptr || !dtype->is_text()) call.fail("has no type to cast to");
  return {call.make(OperatorId::cast, {call.input()}, {{"to", static_cast<std::int64_t>(dtype_named(dtype->text()))}})};
}

Variables broadcast_to(Call& call) {
  const Json* shape = find_setting(call, {"shape"}, 1);
  if (shape == nullptr) call.unsupported("its shape is computed, which is not read");
  Shape target;
  for (const Json& size : shape->array()) target.push_back(size.is_null() ? -1 : size.integer());
  return {call.make(OperatorId::expand, {call.input()}, {{"shape", target}})};
}

Variables tile(Call& call) {
  const Json* repeats = find_setting(call, {"repeats", "multiples"}, 1);
  if (repeats == nullptr) call.fail("has no repeats");
  return {call.make(OperatorId::tile, {call.input()}, {{"repeats", call.integers(*repeats)}})};
}

// Each element `repeats` times along an axis: a new dimension of that size, joined with the axis.
Variables repeat(Call& call) {
  const VariableId x = call.input();
  const Json* repeats = find_setting(call, {"repeats"}, 1);
  const Json* along = find_setting(call, {"axis"}, 2);
  if (repeats == nullptr || !repeats->is_integer() || along == nullptr)
    call.unsupported("only one number of repeats along one axis is read");
  const Shape shape = call.shape(x);
  const std::size_t axis = call.axis(along->integer(), shape.size());
  const VariableId wide =
      call.make(OperatorId::unsqueeze, {x}, {{"axes", Shape{static_cast<std::int64_t>(axis) + 1}}}, "unsqueeze");
  Shape counts(shape.size() + 1, 1);
  counts[axis + 1] = repeats->integer();
  const VariableId tiled = call.make(OperatorId::tile, {wide}, {{"repeats", counts}});
  Shape target(shape.size(), 0);
  for (std::size_t i = axis; i < shape.size(); ++i) target[i] = i == axis ? -1 : call.known_size(x, i);
  return {call.reshape(tiled, target)};
}

Variables where(Call& call) {
  const Argument* yes = call.argument("x1", 1);
  const Argument* no = call.argument("x2", 2);
  if (yes == nullptr || no == nullptr) call.unsupported("without two choices its size depends on the data");
  DType dtype = call.compute_dtype();
  for (const Argument* one : {yes, no}) {
    if (!one->tensors.empty()) dtype = call.dtype(one->tensors.front());
  }
  return {call.make(OperatorId::where, {call.input(), operand(call, yes, dtype), operand(call, no, dtype)})};
}

Variables einsum(Call& call) {
  Variables inputs;
  for (const Argument& argument : call.arguments().positional) {
    inputs.insert(inputs.end(), argument.tensors.begin(), argument.tensors.end());
  }
  const Json* equation = find_setting(call, {"subscripts", "equation"}, 0);
  if (equation == nullptr || !equation->is_text()) call.fail("has no equation");
  return {call.make(OperatorId::einsum, inputs, {{"equation", equation->text()}})};
}

Variables take(Call& call) {
  const Json* axis = find_setting(call, {"axis"}, 2);
  if (axis == nullptr) call.unsupported("picking from the flattened tensor is not read; give an axis");
  const Argument* indices = call.argument("indices", 1);
  return {
      call.make(OperatorId::gather, {call.input(), operand(call, indices, DType::int32)}, {{"axis", axis->integer()}})};
}

Variables one_hot(Call& call) {
  const Json* classes = find_setting(call, {"num_classes", "depth"}, 1);
  if (classes == nullptr) call.fail("has no number of classes");
  const VariableId depth = call.scalar(static_cast<double>(classes->integer()), DType::int64);
  const VariableId values = call.constant(call.compute_dtype(), {2});
  return {call.make(OperatorId::one_hot, {call.input(), depth, values},
                    {{"axis", integer_setting(call, {"axis"}, 2, -1)}})};
}

bool is_special(const Json& item, std::string_view name) {
  if (!item.is_object()) return false;
  const Json* found = item.find("class_name");
  return found != nullptr && found->is_text() && found->text() == name;
}

// x[1, :, ..., None, ::2]: slices, then numbers whose dimension goes, then new dimensions.
Variables get_item(Call& call) {
  const VariableId x = call.input();
  const auto rank = static_cast<std::int64_t>(call.rank(x));
  const Json* key = find_setting(call, {"key", "slice_spec"}, 1);
  if (key == nullptr) call.unsupported("its index is computed, which is not read");
  const Json::Array items = key->is_array() ? key->array() : Json::Array{*key};
  const auto is_slice = [](const Json& item) {
    return is_special(item, "__slice__") || (item.is_object() && item.find("start") != nullptr);
  };
  const auto is_dots = [](const Json& item) {
    return is_special(item, "__ellipsis__") || (item.is_text() && item.text() == "...");
  };
  const auto named =
      std::count_if(items.begin(), items.end(), [&](const Json& item) { return item.is_integer() || is_slice(item); });
  Shape starts;
  Shape ends;
  Shape axes;
  Shape steps;
  Shape dropped;
  Shape added;
  std::int64_t axis = 0;    // of the input
  std::int64_t result = 0;  // of the result
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  const auto cut = [&](std::int64_t start, std::int64_t end, std::int64_t step) {
    starts.push_back(start);
    ends.push_back(end);
    axes.push_back(axis);
    steps.push_back(step);
  };
  for (const Json& item : items) {
    if (is_dots(item)) {
      axis += rank - named;
      result += rank - named;
    } else if (item.is_null() ||
               (item.is_object() && item.find("start") == nullptr && is_special(item, "__newaxis__"))) {
      added.push_back(result++);
    } else if (item.is_integer()) {
      cut(item.integer(), item.integer() == -1 || item.integer() == kEnd ? kEnd : item.integer() + 1, 1);
      dropped.push_back(axis++);
    } else if (is_slice(item)) {
      const Json& slice = item.find("config") != nullptr ? item.at("config") : item;
      const auto part = [&](const char* name) -> std::optional<std::int64_t> {
        const Json* found = slice.find(name);
        if (found == nullptr || found->is_null()) return std::nullopt;
        if (!found->is_integer()) call.unsupported("a computed index is not read");
        return found->integer();
      };
      const std::int64_t step = part("step").value_or(1);
      const std::int64_t first = step < 0 ? kEnd : 0;
      const std::int64_t last = step < 0 ? std::numeric_limits<std::int64_t>::min() : kEnd;
      if (part("start") || part("stop") || step != 1)
        cut(part("start").value_or(first), part("stop").value_or(last), step);
      ++axis;
      ++result;
    } else {
      call.unsupported("only numbers and slices are read as an index");
    }
  }
  if (axis > rank) call.fail(concat("its index names ", axis, " dimensions of ", rank));
  VariableId y = x;
  if (!starts.empty())
    y = call.make(OperatorId::slice, {y}, {{"starts", starts}, {"ends", ends}, {"axes", axes}, {"steps", steps}});
  if (!dropped.empty()) y = call.make(OperatorId::squeeze, {y}, {{"axes", dropped}}, "squeeze");
  if (!added.empty()) y = call.make(OperatorId::unsqueeze, {y}, {{"axes", added}}, "unsqueeze");
  return {y};
}

Variables pad(Call& call) {
  const Json* widths = find_setting(call, {"pad_width", "paddings"}, 1);
  if (widths == nullptr) call.unsupported("its widths are computed, which is not read");
  Shape before;
  Shape after;
  for (const Json& pair : widths->array()) {
    before.push_back(call.integers(pair).at(0));
    after.push_back(call.integers(pair).back());
  }
  before.insert(before.end(), after.begin(), after.end());
  return {call.make(OperatorId::pad, {call.input()}, {{"pads", before}})};
}

Variables pass_input(Call& call) { return {call.input()}; }

}  // namespace

const std::vector<LayerRow>& array_operations() {
  static const std::vector<LayerRow> rows{
      {"Reshape", reshape_to},
      {"Transpose", transpose},
      {"Swapaxes", swapaxes},
      {"ExpandDims", with_axes<OperatorId::unsqueeze>},
      {"Squeeze", with_axes<OperatorId::squeeze>},
      {"Concatenate", concatenate_inputs},
      {"Stack", stack},
      {"Split", split},
      {"Cast", cast},
      {"BroadcastTo", broadcast_to},
      {"Tile", tile},
      {"Repeat", repeat},
      {"Where", where},
      {"Einsum", einsum},
      {"Take", take},
      {"OneHot", one_hot},
      {"GetItem", get_item},
      {"Pad", pad},
      {"Copy", pass_input},
      {"StopGradient", pass_input},
      {"ConvertToTensor", pass_input},
  };
  return rows;
}

const std::vector<FunctionRow>& array_functions() {
  static const std::vector<FunctionRow> rows{
      {"reshape", reshape_to},
      {"transpose", transpose},
      {"expand_dims", with_axes<OperatorId::unsqueeze>},
      {"squeeze", with_axes<OperatorId::squeeze>},
      {"concat", concatenate_inputs},
      {"stack", stack},
      {"split", split},
      {"tile", tile},
      {"cast", cast},
      {"identity", pass_input},
      {"compat.v1.pad", pad},
      {"compat.v1.transpose", transpose},
      {"__operators__.getitem", get_item},
      {"einsum", einsum},
  };
  return rows;
}

}  // namespace latpred::readers::keras
