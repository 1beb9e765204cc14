#include <algorithm>
#include <limits>
#include <optional>

#include "latpred/text.h"
#include "readers/keras_network.h"

namespace latpred::readers::keras {
namespace {

using Names = std::initializer_list<std::string_view>;

// A setting of an operation: Keras 3 keeps it in the config or passes it, Keras 2 passes it under TensorFlow's name.
const Json* find_setting(const Call& call, Names names, std::size_t position) {
  for (const std::string_view name : names) {
    const Argument* named = call.argument(name, static_cast<std::size_t>(-1));
    if (named != nullptr) return named->constant;
    if (call.has(name)) return call.config().find(name);
  }
  const Argument* at = call.argument("", position);
  return at == nullptr ? nullptr : at->constant;
}

std::int64_t integer_setting(const Call& call, Names names, std::size_t position, std::int64_t fallback) {
  const Json* found = find_setting(call, names, position);
  return found == nullptr ? fallback : found->integer();
}

Shape shape_of_lists(const Call& call, const Json& json) {
  Shape shape;
  for (const Json* at = &json; at->is_array(); at = &at->array().front()) {
    shape.push_back(static_cast<std::int64_t>(at->array().size()));
    if (at->array().empty()) call.unsupported("an empty constant is not read");
  }
  return shape;
}

// A tensor, or a constant of the type of what it meets.
VariableId operand(Call& call, const Argument* argument, DType dtype) {
  if (argument == nullptr) call.fail("lacks an operand");
  if (!argument->tensors.empty()) return argument->tensors.front();
  const Json& constant = *argument->constant;
  if (constant.is_number()) return call.scalar(constant.number(), dtype);
  if (constant.is_boolean()) return call.scalar(constant.boolean() ? 1 : 0, DType::boolean);
  const Json* list = constant.is_object() ? constant.at("config").find("value") : &constant;
  if (list != nullptr && list->is_number()) return call.scalar(list->number(), dtype);
  if (list == nullptr || !list->is_array()) call.unsupported("one of its operands is no tensor and no number");
  return call.constant(dtype, shape_of_lists(call, *list));
}

DType first_type(const Call& call) {
  for (const Argument& argument : call.arguments().positional) {
    if (!argument.tensors.empty()) return call.dtype(argument.tensors.front());
  }
  for (const auto& [name, argument] : call.arguments().named) {
    if (!argument.tensors.empty()) return call.dtype(argument.tensors.front());
  }
  call.fail("is called on no tensor");
}

const Argument* first(const Call& call) {
  return call.argument("x", 0) != nullptr ? call.argument("x", 0) : call.argument("x1", 0);
}
const Argument* second(const Call& call) {
  for (const std::string_view name : {"x2", "y", "b"}) {
    if (const Argument* found = call.argument(name, 1)) return found;
  }
  return nullptr;
}

template <OperatorId kOp>
Variables unary(Call& call) {
  return {call.make(kOp, {call.input()})};
}

template <OperatorId kOp>
Variables binary(Call& call) {
  const DType dtype = first_type(call);
  const VariableId a = operand(call, first(call), dtype);
  return {call.make(kOp, {a, operand(call, second(call), dtype)})};
}

template <OperatorId kOp>
Variables along_axis(Call& call) {
  const std::int64_t axis = integer_setting(call, {"axis"}, 1, -1);
  return {call.make(kOp, {call.input()}, {{"axis", axis}})};
}

// No axis: all of them.
Settings reduction_settings(const Call& call) {
  Settings settings;
  const Json* axes = find_setting(call, {"axis"}, 1);
  if (axes != nullptr) settings.emplace_back("axes", call.integers(*axes));
  const Json* keeps = find_setting(call, {"keepdims", "keep_dims"}, 2);
  settings.emplace_back("keepdims", std::int64_t{keeps != nullptr && keeps->boolean()});
  return settings;
}

template <OperatorId kOp>
Variables reduce(Call& call) {
  return {call.make(kOp, {call.input()}, reduction_settings(call))};
}

Variables standard_deviation(Call& call) {
  const VariableId variance = call.make(OperatorId::reduce_variance, {call.input()}, reduction_settings(call));
  return {call.make(OperatorId::sqrt, {variance}, {}, "sqrt")};
}

template <OperatorId kOp>
Variables arg_reduce(Call& call) {
  const Json* keeps = find_setting(call, {"keepdims"}, 2);
  const Json* axis = find_setting(call, {"axis"}, 1);
  if (axis == nullptr) call.unsupported("the place in the flattened tensor is not read; give an axis");
  return {call.make(kOp, {call.input()},
                    {{"axis", axis->integer()}, {"keepdims", std::int64_t{keeps != nullptr && keeps->boolean()}}})};
}

Variables square(Call& call) { return {call.make(OperatorId::mul, {call.input(), call.input()})}; }

Variables floor_divide(Call& call) {
  const VariableId quotient = binary<OperatorId::div>(call).front();
  return {call.make(OperatorId::floor, {quotient}, {}, "floor")};
}

Variables not_equal(Call& call) {
  const VariableId same = binary<OperatorId::equal>(call).front();
  return {call.make(OperatorId::logical_not, {same}, {}, "not")};
}

Variables clip(Call& call) {
  const VariableId x = call.input();
  Settings settings;
  const Json* low = find_setting(call, {"x_min", "clip_value_min"}, 1);
  const Json* high = find_setting(call, {"x_max", "clip_value_max"}, 2);
  if (low != nullptr) settings.emplace_back("min", low->number());
  if (high != nullptr) settings.emplace_back("max", high->number());
  return {call.make(OperatorId::clip, {x}, std::move(settings))};
}

// A rectifier with Keras 3's settings, or Keras 2's where it stores nn.relu.
Variables leaky_relu(Call& call) {
  const Json* slope = find_setting(call, {"negative_slope", "alpha"}, 1);
  return {call.make(OperatorId::leaky_relu, {call.input()}, {{"alpha", slope == nullptr ? 0.2 : slope->number()}})};
}

Variables relu6(Call& call) { return {call.make(OperatorId::clip, {call.input()}, {{"min", 0.0}, {"max", 6.0}})}; }

Variables reshape(Call& call) {
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

Variables concatenate(Call& call) {
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

Variables pass(Call& call) { return {call.input()}; }

struct FunctionRow {
  std::string_view function;
  Lower lower;
};

constexpr FunctionRow kFunctions[] = {
    {"math.add", binary<OperatorId::add>},
    {"__operators__.add", binary<OperatorId::add>},
    {"math.subtract", binary<OperatorId::sub>},
    {"math.multiply", binary<OperatorId::mul>},
    {"math.divide", binary<OperatorId::div>},
    {"math.truediv", binary<OperatorId::div>},
    {"math.maximum", binary<OperatorId::max>},
    {"math.minimum", binary<OperatorId::min>},
    {"math.pow", binary<OperatorId::pow>},
    {"linalg.matmul", binary<OperatorId::matmul>},
    {"math.abs", unary<OperatorId::abs>},
    {"math.negative", unary<OperatorId::neg>},
    {"math.exp", unary<OperatorId::exp>},
    {"math.log", unary<OperatorId::log>},
    {"math.sqrt", unary<OperatorId::sqrt>},
    {"math.rsqrt", unary<OperatorId::rsqrt>},
    {"math.square", square},
    {"math.tanh", unary<OperatorId::tanh>},
    {"math.sigmoid", unary<OperatorId::sigmoid>},
    {"nn.sigmoid", unary<OperatorId::sigmoid>},
    {"nn.tanh", unary<OperatorId::tanh>},
    {"nn.relu", unary<OperatorId::relu>},
    {"nn.relu6", relu6},
    {"nn.silu", unary<OperatorId::silu>},
    {"nn.gelu", unary<OperatorId::gelu>},
    {"nn.elu", unary<OperatorId::elu>},
    {"nn.selu", unary<OperatorId::selu>},
    {"nn.leaky_relu", leaky_relu},
    {"nn.softmax", along_axis<OperatorId::softmax>},
    {"math.reduce_mean", reduce<OperatorId::reduce_mean>},
    {"math.reduce_sum", reduce<OperatorId::reduce_sum>},
    {"math.reduce_max", reduce<OperatorId::reduce_max>},
    {"math.reduce_min", reduce<OperatorId::reduce_min>},
    {"math.reduce_prod", reduce<OperatorId::reduce_prod>},
    {"reshape", reshape},
    {"transpose", transpose},
    {"expand_dims", with_axes<OperatorId::unsqueeze>},
    {"squeeze", with_axes<OperatorId::squeeze>},
    {"concat", concatenate},
    {"stack", stack},
    {"split", split},
    {"tile", tile},
    {"cast", cast},
    {"identity", pass},
    {"clip_by_value", clip},
    {"compat.v1.pad", pad},
    {"compat.v1.transpose", transpose},
    {"compat.v1.nn.relu6", relu6},
    {"__operators__.getitem", get_item},
    {"einsum", einsum},
};

}  // namespace

Variables call_function(Call& call, const std::string& function) {
  std::vector<std::string> valid;
  for (const FunctionRow& row : kFunctions) {
    if (row.function == function) return row.lower(call);
    valid.emplace_back(row.function);
  }
  call.unsupported(unknown_name_message("function", function, valid));
}

const std::vector<LayerRow>& operation_layers() {
  static const std::vector<LayerRow> rows{
      {"Abs", unary<OperatorId::abs>},
      {"Absolute", unary<OperatorId::abs>},
      {"Negative", unary<OperatorId::neg>},
      {"Exp", unary<OperatorId::exp>},
      {"Expm1", unary<OperatorId::exp>},
      {"Log", unary<OperatorId::log>},
      {"Log1p", unary<OperatorId::log>},
      {"Sqrt", unary<OperatorId::sqrt>},
      {"Rsqrt", unary<OperatorId::rsqrt>},
      {"Square", square},
      {"Reciprocal", unary<OperatorId::reciprocal>},
      {"Sin", unary<OperatorId::sin>},
      {"Cos", unary<OperatorId::cos>},
      {"Tan", unary<OperatorId::tan>},
      {"Tanh", unary<OperatorId::tanh>},
      {"Erf", unary<OperatorId::erf>},
      {"Floor", unary<OperatorId::floor>},
      {"Ceil", unary<OperatorId::ceil>},
      {"Round", unary<OperatorId::round>},
      {"Sign", unary<OperatorId::sign>},
      {"Isnan", unary<OperatorId::is_nan>},
      {"Isinf", unary<OperatorId::is_inf>},
      {"LogicalNot", unary<OperatorId::logical_not>},
      {"Sigmoid", unary<OperatorId::sigmoid>},
      {"HardSigmoid", unary<OperatorId::hard_sigmoid>},
      {"HardSilu", unary<OperatorId::hard_swish>},
      {"Relu", unary<OperatorId::relu>},
      {"Relu6", relu6},
      {"LeakyRelu", leaky_relu},
      {"Silu", unary<OperatorId::silu>},
      {"Gelu", unary<OperatorId::gelu>},
      {"Elu", unary<OperatorId::elu>},
      {"Selu", unary<OperatorId::selu>},
      {"Celu", unary<OperatorId::celu>},
      {"Softplus", unary<OperatorId::softplus>},
      {"Softsign", unary<OperatorId::softsign>},
      {"Softmax", along_axis<OperatorId::softmax>},
      {"LogSoftmax", along_axis<OperatorId::log_softmax>},
      {"Add", binary<OperatorId::add>},
      {"Subtract", binary<OperatorId::sub>},
      {"Multiply", binary<OperatorId::mul>},
      {"Divide", binary<OperatorId::div>},
      {"TrueDivide", binary<OperatorId::div>},
      {"FloorDivide", floor_divide},
      {"Mod", binary<OperatorId::mod>},
      {"Power", binary<OperatorId::pow>},
      {"Maximum", binary<OperatorId::max>},
      {"Minimum", binary<OperatorId::min>},
      {"Equal", binary<OperatorId::equal>},
      {"NotEqual", not_equal},
      {"Greater", binary<OperatorId::greater>},
      {"GreaterEqual", binary<OperatorId::greater_or_equal>},
      {"Less", binary<OperatorId::less>},
      {"LessEqual", binary<OperatorId::less_or_equal>},
      {"LogicalAnd", binary<OperatorId::logical_and>},
      {"LogicalOr", binary<OperatorId::logical_or>},
      {"Matmul", binary<OperatorId::matmul>},
      {"Mean", reduce<OperatorId::reduce_mean>},
      {"Sum", reduce<OperatorId::reduce_sum>},
      {"Max", reduce<OperatorId::reduce_max>},
      {"Min", reduce<OperatorId::reduce_min>},
      {"Amax", reduce<OperatorId::reduce_max>},
      {"Amin", reduce<OperatorId::reduce_min>},
      {"Prod", reduce<OperatorId::reduce_prod>},
      {"Any", reduce<OperatorId::reduce_any>},
      {"All", reduce<OperatorId::reduce_all>},
      {"Var", reduce<OperatorId::reduce_variance>},
      {"Std", standard_deviation},
      {"Argmax", arg_reduce<OperatorId::arg_max>},
      {"Argmin", arg_reduce<OperatorId::arg_min>},
      {"Clip", clip},
      {"Reshape", reshape},
      {"Transpose", transpose},
      {"Swapaxes", swapaxes},
      {"ExpandDims", with_axes<OperatorId::unsqueeze>},
      {"Squeeze", with_axes<OperatorId::squeeze>},
      {"Concatenate", concatenate},
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
      {"Copy", pass},
      {"StopGradient", pass},
      {"ConvertToTensor", pass},
  };
  return rows;
}

}  // namespace latpred::readers::keras
