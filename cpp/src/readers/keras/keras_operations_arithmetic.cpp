#include "readers/keras/keras_operations.h"

// Element by element, along an axis, over all.
namespace latpred::readers::keras {
namespace {

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

}  // namespace

const std::vector<LayerRow>& arithmetic_operations() {
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
  };
  return rows;
}

const std::vector<FunctionRow>& arithmetic_functions() {
  static const std::vector<FunctionRow> rows{
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
      {"clip_by_value", clip},
      {"compat.v1.nn.relu6", relu6},
  };
  return rows;
}

}  // namespace latpred::readers::keras
