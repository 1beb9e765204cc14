#include <algorithm>
#include <string>
#include <utility>

#include "latpred/dtype.h"
#include "readers/torch/aten_operators.h"

namespace latpred::readers {
namespace {

bool is_boolean(const AtenCall& call, VariableId variable) { return call.dtype(variable) == DType::boolean; }

void unary(const AtenCall& call) {
  const std::vector<VariableId> tensors = call.all_tensors();
  if (tensors.empty()) call.fail("has no tensor");
  call.append(call.statement(call.row().op, {tensors[0]}));
}

// With one number that matters for the shape of the curve only.
template <const char* kArgument, const char* kAttribute>
void with_number(const AtenCall& call) {
  Statement statement = call.statement(call.row().op, {call.required("self")});
  statement.attributes.set(kAttribute, call.real(kArgument));
  call.append(std::move(statement));
}

constexpr char kAlpha[] = "alpha";
constexpr char kLambda[] = "lambd";
constexpr char kNegativeSlope[] = "negative_slope";
constexpr char kThreshold[] = "threshold";

void gelu(const AtenCall& call) {
  Statement statement = call.statement(OperatorId::gelu, {call.required("self")});
  statement.attributes.set("approximate", call.text("approximate"));
  call.append(std::move(statement));
}

// In evaluation a randomised slope is the mean of its bounds.
void rrelu(const AtenCall& call) {
  Statement statement = call.statement(OperatorId::leaky_relu, {call.required("self")});
  statement.attributes.set("alpha", (call.real("lower") + call.real("upper")) / 2);
  call.append(std::move(statement));
}

template <const char* kLow, const char* kHigh>
void clip(const AtenCall& call) {
  const VariableId x = call.required("self");
  std::vector<VariableId> inputs{x};
  for (const char* bound : {kLow, kHigh}) {
    const bool is_given = bound != nullptr && (call.has(bound) || call.row().name == "hardtanh");
    inputs.push_back(is_given ? call.operand(bound, call.dtype(x)) : kAbsent);
  }
  while (inputs.back() == kAbsent) inputs.pop_back();
  call.append(call.statement(OperatorId::clip, std::move(inputs)));
}

constexpr char kMin[] = "min";
constexpr char kMax[] = "max";
constexpr char kMinVal[] = "min_val";
constexpr char kMaxVal[] = "max_val";

void relu6(const AtenCall& call) {
  constexpr double kSix = 6;
  const VariableId x = call.required("self");
  call.append(call.statement(OperatorId::clip, {x, call.scalar(call.dtype(x), 0), call.scalar(call.dtype(x), kSix)}));
}

void glu(const AtenCall& call) {
  Statement statement = call.statement(OperatorId::glu, {call.required("self")});
  statement.attributes.set("axis", call.integer("dim"));
  call.append(std::move(statement));
}

// A number takes the type of the tensor beside it, or a real one where the result is real.
DType number_type(const AtenCall& call, std::string_view other) {
  const DType result = call.dtype(call.output());
  const AtenValue* beside = call.node().find(other);
  const auto* tensor = beside != nullptr ? std::get_if<AtenTensor>(beside) : nullptr;
  if (tensor == nullptr) return result;
  const DType dtype = call.dtype(tensor->variable);
  if (result == DType::boolean || !dtype_row(result).is_floating) return dtype;
  return dtype_row(dtype).is_floating ? dtype : result;
}

std::vector<VariableId> operands(const AtenCall& call, const char* left, const char* right) {
  return {call.operand(left, number_type(call, right)), call.operand(right, number_type(call, left))};
}

void binary(const AtenCall& call) { call.append(call.statement(call.row().op, operands(call, "self", "other"))); }

void power(const AtenCall& call) { call.append(call.statement(OperatorId::pow, operands(call, "self", "exponent"))); }

// self + alpha * other in one pass.
template <bool kIsReversed, int kSign>
void scaled_sum(const AtenCall& call) {
  std::vector<VariableId> inputs = operands(call, "self", "other");
  const double alpha = call.real("alpha");
  if (kIsReversed) std::swap(inputs[0], inputs[1]);
  if (alpha == 1) return call.append(call.statement(call.row().op, std::move(inputs)));
  inputs.push_back(call.scalar(call.dtype(call.output()), kSign * alpha));
  call.append(call.statement(OperatorId::addcmul, std::move(inputs)));
}

void div(const AtenCall& call) {
  Statement statement = call.statement(OperatorId::div, operands(call, "self", "other"));
  const std::string rounding = call.row().name == "floor_divide" ? "floor" : call.text("rounding_mode");
  if (!rounding.empty()) statement.attributes.set("rounding_mode", rounding);
  call.append(std::move(statement));
}

void fmod(const AtenCall& call) {
  Statement statement = call.statement(OperatorId::mod, operands(call, "self", "other"));
  statement.attributes.set("fmod", std::int64_t{1});
  call.append(std::move(statement));
}

// torch's bitwise operators are the logical ones on booleans.
template <OperatorId kLogical>
void bitwise(const AtenCall& call) {
  const bool is_logical = is_boolean(call, call.output());
  call.append(call.statement(is_logical ? kLogical : call.row().op, operands(call, "self", "other")));
}

void bitwise_not(const AtenCall& call) {
  const bool is_logical = is_boolean(call, call.output());
  call.append(call.statement(is_logical ? OperatorId::logical_not : OperatorId::bitwise_not, {call.required("self")}));
}

template <bool kIsLeft>
void shift(const AtenCall& call) {
  Statement statement = call.statement(OperatorId::bit_shift, operands(call, "self", "other"));
  statement.attributes.set("direction", std::string(kIsLeft ? "LEFT" : "RIGHT"));
  call.append(std::move(statement));
}

void where(const AtenCall& call) {
  std::vector<VariableId> inputs = operands(call, "self", "other");
  inputs.insert(inputs.begin(), call.required("condition"));
  call.append(call.statement(OperatorId::where, std::move(inputs)));
}

void masked_fill(const AtenCall& call) {
  const VariableId x = call.required("self");
  call.append(call.statement(OperatorId::where, {call.required("mask"), call.operand("value", call.dtype(x)), x}));
}

void square(const AtenCall& call) {
  const VariableId x = call.required("self");
  call.append(call.statement(OperatorId::mul, {x, x}));
}

void lerp(const AtenCall& call) {
  const VariableId x = call.required("self");
  call.append(call.statement(OperatorId::lerp, {x, call.required("end"), call.operand("weight", call.dtype(x))}));
}

// self + value * tensor1 * tensor2
void addcmul(const AtenCall& call) {
  const VariableId x = call.required("self");
  std::vector<VariableId> inputs{x, call.required("tensor1"), call.required("tensor2")};
  if (call.real("value") != 1) inputs.push_back(call.operand("value", call.dtype(x)));
  call.append(call.statement(OperatorId::addcmul, std::move(inputs)));
}

void prelu(const AtenCall& call) {
  call.append(call.statement(OperatorId::prelu, {call.required("self"), call.required("weight")}));
}

// Scale and zero point are numbers, tensors of one number, or one for each channel.
template <const char* kScale, const char* kZeroPoint>
void quantize(const AtenCall& call) {
  const VariableId x = call.required("input");
  const bool gives_integers = call.row().op == OperatorId::quantize_linear;
  const DType real = call.dtype(gives_integers ? x : call.output());
  const DType whole = call.dtype(gives_integers ? call.output() : x);
  Statement statement = call.statement(call.row().op, {x, call.operand(kScale, real), call.operand(kZeroPoint, whole)});
  if (call.node().find("axis") != nullptr) statement.attributes.set("axis", call.integer("axis"));
  call.append(std::move(statement));
}

constexpr char kScale[] = "scale";
constexpr char kScales[] = "scales";
constexpr char kZeroPoint[] = "zero_point";
constexpr char kZeroPoints[] = "zero_points";

using Op = OperatorId;

// Where latpred has no operator of its own, the one that costs the same.
constexpr AtenRow kElementwise[] = {
    {"abs", Op::abs, unary},
    {"absolute", Op::abs, unary},
    {"neg", Op::neg, unary},
    {"negative", Op::neg, unary},
    {"relu", Op::relu, unary},
    {"floor", Op::floor, unary},
    {"ceil", Op::ceil, unary},
    {"round", Op::round, unary},
    {"trunc", Op::floor, unary},
    {"fix", Op::floor, unary},
    {"sign", Op::sign, unary},
    {"sgn", Op::sign, unary},
    {"logical_not", Op::logical_not, unary},
    {"bitwise_not", Op::bitwise_not, bitwise_not},
    {"isinf", Op::is_inf, unary},
    {"isfinite", Op::is_inf, unary},
    {"isnan", Op::is_nan, unary},
    {"reciprocal", Op::reciprocal, unary},
    {"sqrt", Op::sqrt, unary},
    {"rsqrt", Op::rsqrt, unary},
    {"exp", Op::exp, unary},
    {"exp2", Op::exp, unary},
    {"expm1", Op::exp, unary},
    {"special_expm1", Op::exp, unary},
    {"log", Op::log, unary},
    {"log2", Op::log, unary},
    {"log10", Op::log, unary},
    {"log1p", Op::log, unary},
    {"logit", Op::log, unary},
    {"erf", Op::erf, unary},
    {"erfc", Op::erf, unary},
    {"erfinv", Op::erf, unary},
    {"sin", Op::sin, unary},
    {"cos", Op::cos, unary},
    {"tan", Op::tan, unary},
    {"sinh", Op::sinh, unary},
    {"cosh", Op::cosh, unary},
    {"tanh", Op::tanh, unary},
    {"asin", Op::asin, unary},
    {"arcsin", Op::asin, unary},
    {"acos", Op::acos, unary},
    {"arccos", Op::acos, unary},
    {"atan", Op::atan, unary},
    {"arctan", Op::atan, unary},
    {"asinh", Op::asinh, unary},
    {"arcsinh", Op::asinh, unary},
    {"acosh", Op::acosh, unary},
    {"arccosh", Op::acosh, unary},
    {"atanh", Op::atanh, unary},
    {"arctanh", Op::atanh, unary},
    {"sigmoid", Op::sigmoid, unary},
    {"special_expit", Op::sigmoid, unary},
    {"log_sigmoid", Op::softplus, unary},
    {"log_sigmoid_forward", Op::softplus, unary},
    {"silu", Op::silu, unary},
    {"mish", Op::mish, unary},
    {"hardswish", Op::hard_swish, unary},
    {"hardsigmoid", Op::hard_sigmoid, unary},
    {"softplus", Op::softplus, unary},
    {"selu", Op::selu, unary},
    {"elu", Op::elu, with_number<kAlpha, kAlpha>},
    {"celu", Op::celu, with_number<kAlpha, kAlpha>},
    {"leaky_relu", Op::leaky_relu, with_number<kNegativeSlope, kAlpha>},
    {"softshrink", Op::shrink, with_number<kLambda, kLambda>},
    {"hardshrink", Op::shrink, with_number<kLambda, kLambda>},
    {"threshold", Op::thresholded_relu, with_number<kThreshold, kAlpha>},
    {"rrelu", Op::leaky_relu, rrelu},
    {"gelu", Op::gelu, gelu},
    {"glu", Op::glu, glu},
    {"prelu", Op::prelu, prelu},
    {"_prelu_kernel", Op::prelu, prelu},
    {"clamp", Op::clip, clip<kMin, kMax>},
    {"clip", Op::clip, clip<kMin, kMax>},
    {"clamp_min", Op::clip, clip<kMin, nullptr>},
    {"clamp_max", Op::clip, clip<nullptr, kMax>},
    {"hardtanh", Op::clip, clip<kMinVal, kMaxVal>},
    {"relu6", Op::clip, relu6},
    {"nan_to_num", Op::clip, unary},
    {"square", Op::mul, square},
    {"deg2rad", Op::neg, unary},
    {"rad2deg", Op::neg, unary},
    {"add", Op::add, scaled_sum<false, 1>},
    {"sub", Op::sub, scaled_sum<false, -1>},
    {"subtract", Op::sub, scaled_sum<false, -1>},
    {"rsub", Op::sub, scaled_sum<true, -1>},
    {"mul", Op::mul, binary},
    {"multiply", Op::mul, binary},
    {"div", Op::div, div},
    {"divide", Op::div, div},
    {"true_divide", Op::div, div},
    {"floor_divide", Op::div, div},
    {"remainder", Op::mod, binary},
    {"fmod", Op::mod, fmod},
    {"pow", Op::pow, power},
    {"float_power", Op::pow, power},
    {"maximum", Op::max, binary},
    {"minimum", Op::min, binary},
    {"max.other", Op::max, binary},
    {"min.other", Op::min, binary},
    {"fmax", Op::max, binary},
    {"fmin", Op::min, binary},
    {"atan2", Op::atan2, binary},
    {"arctan2", Op::atan2, binary},
    {"hypot", Op::atan2, binary},
    {"copysign", Op::mul, binary},
    {"xlogy", Op::pow, binary},
    {"logaddexp", Op::atan2, binary},
    {"heaviside", Op::greater, binary},
    {"eq", Op::equal, binary},
    {"ne", Op::equal, binary},
    {"not_equal", Op::equal, binary},
    {"isclose", Op::equal, binary},
    {"gt", Op::greater, binary},
    {"greater", Op::greater, binary},
    {"ge", Op::greater_or_equal, binary},
    {"greater_equal", Op::greater_or_equal, binary},
    {"lt", Op::less, binary},
    {"less", Op::less, binary},
    {"le", Op::less_or_equal, binary},
    {"less_equal", Op::less_or_equal, binary},
    {"logical_and", Op::logical_and, binary},
    {"logical_or", Op::logical_or, binary},
    {"logical_xor", Op::logical_xor, binary},
    {"bitwise_and", Op::bitwise_and, bitwise<Op::logical_and>},
    {"bitwise_or", Op::bitwise_or, bitwise<Op::logical_or>},
    {"bitwise_xor", Op::bitwise_xor, bitwise<Op::logical_xor>},
    {"__and__", Op::bitwise_and, bitwise<Op::logical_and>},
    {"__or__", Op::bitwise_or, bitwise<Op::logical_or>},
    {"__xor__", Op::bitwise_xor, bitwise<Op::logical_xor>},
    {"bitwise_left_shift", Op::bit_shift, shift<true>},
    {"bitwise_right_shift", Op::bit_shift, shift<false>},
    {"__lshift__", Op::bit_shift, shift<true>},
    {"__rshift__", Op::bit_shift, shift<false>},
    {"where", Op::where, where},
    {"masked_fill", Op::where, masked_fill},
    {"lerp", Op::lerp, lerp},
    {"addcmul", Op::addcmul, addcmul},
    {"addcdiv", Op::addcmul, addcmul},
    {"quantized_decomposed::quantize_per_tensor", Op::quantize_linear, quantize<kScale, kZeroPoint>},
    {"quantized_decomposed::dequantize_per_tensor", Op::dequantize_linear, quantize<kScale, kZeroPoint>},
    {"quantized_decomposed::quantize_per_channel", Op::quantize_linear, quantize<kScales, kZeroPoints>},
    {"quantized_decomposed::dequantize_per_channel", Op::dequantize_linear, quantize<kScales, kZeroPoints>},
};

}  // namespace

std::span<const AtenRow> aten_elementwise() { return kElementwise; }

}  // namespace latpred::readers
