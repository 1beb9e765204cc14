#include <algorithm>
#include <cmath>
#include <limits>

#include "latpred/text.h"
#include "operators/layout.h"
#include "shapes/broadcast.h"
#include "shapes/element_type.h"
#include "shapes/fold.h"
#include "shapes/rules.h"

namespace latpred::shapes {
namespace {

using Integer = std::int64_t;

// ONNX demands equal types; files of other frameworks mix them, and then the widest kind wins.
DType common_type(const RuleContext& context, std::size_t first = 0) {
  DType result = DType::undefined;
  for (std::size_t i = first; i < context.num_inputs(); ++i) {
    if (!context.has_input(i)) continue;
    const DType dtype = context.dtype(i);
    if (result == DType::undefined || (is_real(dtype) && !is_real(result))) result = dtype;
  }
  return result;
}

void same(RuleContext& context) { context.set_output(0, context.dtype(0), context.shape(0)); }

// With a function for shape arithmetic; nullptr: integers go through the reals.
template <double (*kReal)(double), Integer (*kInteger)(Integer) = nullptr>
void unary(RuleContext& context) {
  same(context);
  fold_unary(context, kInteger, kReal);
}

void predicate(RuleContext& context) { context.set_output(0, DType::boolean, context.shape(0)); }

void check_integers(const RuleContext& context) {
  for (std::size_t i = 0; i < context.num_inputs(); ++i) {
    if (!dtype_row(context.dtype(i)).is_integer) {
      context.fail(concat("works on the bits of integers, input ", i, " is ", dtype_row(context.dtype(i)).name));
    }
  }
}

Integer inverted(Integer x) { return ~x; }

void bitwise_not(RuleContext& context) {
  check_integers(context);
  same(context);
  fold_unary(context, inverted, nullptr);
}

void logical_not(RuleContext& context) {
  predicate(context);
  fold_unary(context, [](Integer x) { return Integer{x == 0}; }, [](double x) { return x == 0 ? 1.0 : 0.0; });
}

void broadcasting(RuleContext& context) { context.set_output(0, common_type(context), broadcast_inputs(context)); }

// Before opset 7, `broadcast` and `axis` say where the second operand's dimensions stand in the first's.
bool is_legacy_broadcast(const RuleContext& context) { return context.attributes().integer("broadcast", 0) != 0; }

void check_legacy(RuleContext& context) {
  const Integer rank = context.rank(0);
  const Integer axis = context.attributes().integer("axis", rank - context.rank(1));
  const Shape& a = context.shape(0);
  const Shape& b = context.shape(1);
  const Integer start = axis < 0 ? axis + rank : axis;
  for (Integer i = 0; i < context.rank(1); ++i) {
    if (start + i >= rank || start + i < 0 || (b[i] != a[start + i] && b[i] != 1)) {
      context.fail(concat("shape ", shape_text(b), " does not fit ", shape_text(a), " from axis ", axis, " on"));
    }
  }
}

template <double (*kReal)(double, double), Integer (*kInteger)(Integer, Integer)>
void binary(RuleContext& context) {
  if (is_legacy_broadcast(context)) {
    check_legacy(context);
    context.set_output(0, context.dtype(0), context.shape(0));
    return;
  }
  broadcasting(context);
  fold_binary(context, kInteger, kReal);
}

template <Integer (*kInteger)(Integer, Integer)>
void bitwise(RuleContext& context) {
  check_integers(context);
  broadcasting(context);
  fold_binary(context, kInteger, nullptr);
}

template <double (*kReal)(double, double), Integer (*kInteger)(Integer, Integer)>
void variadic(RuleContext& context) {
  broadcasting(context);
  fold_variadic(context, kInteger, kReal);
}

void comparison_shape(RuleContext& context) {
  if (is_legacy_broadcast(context)) check_legacy(context);
  context.set_output(0, DType::boolean, is_legacy_broadcast(context) ? context.shape(0) : broadcast_inputs(context));
}

template <bool (*kReal)(double, double), bool (*kInteger)(Integer, Integer)>
void comparison(RuleContext& context) {
  comparison_shape(context);
  if (!is_legacy_broadcast(context)) fold_compare(context, kInteger, kReal);
}

// Integers wrap around as the runtimes' do, instead of overflowing.
Integer wrapped(std::uint64_t x) { return static_cast<Integer>(x); }
std::uint64_t unwrapped(Integer x) { return static_cast<std::uint64_t>(x); }

Integer add(Integer a, Integer b) { return wrapped(unwrapped(a) + unwrapped(b)); }
Integer sub(Integer a, Integer b) { return wrapped(unwrapped(a) - unwrapped(b)); }
Integer mul(Integer a, Integer b) { return wrapped(unwrapped(a) * unwrapped(b)); }
Integer divide(Integer a, Integer b) {
  if (b == 0) return 0;  // undefined in ONNX
  return b == -1 ? sub(0, a) : a / b;
}
Integer floor_mod(Integer a, Integer b) {
  if (b == 0 || b == -1) return 0;
  const Integer rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
Integer c_mod(Integer a, Integer b) { return b == 0 || b == -1 ? 0 : a % b; }
Integer smaller(Integer a, Integer b) { return std::min(a, b); }
Integer larger(Integer a, Integer b) { return std::max(a, b); }
Integer both(Integer a, Integer b) { return a & b; }
Integer either(Integer a, Integer b) { return a | b; }
Integer exclusive(Integer a, Integer b) { return a ^ b; }
Integer absolute(Integer x) { return x < 0 ? sub(0, x) : x; }
Integer negative(Integer x) { return sub(0, x); }
Integer itself(Integer x) { return x; }
Integer sign_of(Integer x) { return (x > 0) - (x < 0); }
Integer power(Integer base, Integer exponent) {
  return to_integer(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
}

double add_r(double a, double b) { return a + b; }
double sub_r(double a, double b) { return a - b; }
double mul_r(double a, double b) { return a * b; }
double div_r(double a, double b) { return a / b; }
double pow_r(double a, double b) { return std::pow(a, b); }
double min_r(double a, double b) { return std::min(a, b); }
double max_r(double a, double b) { return std::max(a, b); }
double fmod_r(double a, double b) { return std::fmod(a, b); }
double abs_r(double x) { return std::abs(x); }
double neg_r(double x) { return -x; }
double floor_r(double x) { return std::floor(x); }
double ceil_r(double x) { return std::ceil(x); }
double round_r(double x) { return std::nearbyint(x); }  // half to even, as ONNX asks
double sqrt_r(double x) { return std::sqrt(x); }
double rsqrt_r(double x) { return 1 / std::sqrt(x); }
double reciprocal_r(double x) { return 1 / x; }
double exp_r(double x) { return std::exp(x); }
double log_r(double x) { return std::log(x); }
double relu_r(double x) { return std::max(x, 0.0); }
double sign_r(double x) { return static_cast<double>((x > 0) - (x < 0)); }

template <typename T>
bool equal_to(T a, T b) {
  return a == b;
}
template <typename T>
bool greater(T a, T b) {
  return a > b;
}
template <typename T>
bool greater_or_equal(T a, T b) {
  return a >= b;
}
template <typename T>
bool less(T a, T b) {
  return a < b;
}
template <typename T>
bool less_or_equal(T a, T b) {
  return a <= b;
}
template <typename T>
bool logical_and(T a, T b) {
  return a != 0 && b != 0;
}
template <typename T>
bool logical_or(T a, T b) {
  return a != 0 || b != 0;
}
template <typename T>
bool logical_xor(T a, T b) {
  return (a != 0) != (b != 0);
}

Integer floor_divide(Integer a, Integer b) { return b == 0 ? 0 : divide(sub(a, floor_mod(a, b)), b); }
double floor_div_r(double a, double b) { return std::floor(a / b); }

// torch's rounding_mode; without one integers are cut off.
void div(RuleContext& context) {
  if (context.attributes().text("rounding_mode", "") != "floor") return binary<div_r, divide>(context);
  broadcasting(context);
  fold_binary(context, floor_divide, floor_div_r);
}

void mod(RuleContext& context) {
  broadcasting(context);
  fold_binary(context, context.attributes().integer("fmod", 0) != 0 ? c_mod : floor_mod, fmod_r);
}

// The exponent may have a type of its own.
void pow(RuleContext& context) {
  if (is_legacy_broadcast(context)) {
    same(context);
    return;
  }
  context.set_output(0, context.dtype(0), broadcast_inputs(context));
  fold_binary(context, power, pow_r);
}

void bit_shift(RuleContext& context) {
  check_integers(context);
  broadcasting(context);
  if (context.attributes().text("direction", "") == "LEFT") {
    fold_binary(
        context, [](Integer a, Integer b) { return b < 64 && b >= 0 ? wrapped(unwrapped(a) << b) : 0; }, nullptr);
  } else {
    fold_binary(
        context, [](Integer a, Integer b) { return b < 64 && b >= 0 ? wrapped(unwrapped(a) >> b) : 0; }, nullptr);
  }
}

// Bounds are attributes up to opset 10, inputs since.
void clip(RuleContext& context) {
  same(context);
  const Value* x = context.value(0);
  const auto bound = [&](std::string_view name, std::size_t index, double open) -> std::optional<double> {
    if (context.attributes().has(name)) return context.attributes().real(name, open);
    if (!context.has_input(index)) return open;
    const Value* value = context.value(index);
    if (value == nullptr || size_of(*value) != 1) return std::nullopt;
    return real_at(*value, 0);
  };
  const auto low = bound("min", 1, -std::numeric_limits<double>::infinity());
  const auto high = bound("max", 2, std::numeric_limits<double>::infinity());
  if (x == nullptr || !low || !high) return;
  Value result;
  for (Integer i = 0; i < size_of(*x); ++i) {
    if (is_real(context.dtype(0))) {
      result.reals.push_back(std::min(std::max(real_at(*x, i), *low), *high));
    } else {
      result.integers.push_back(std::min(std::max(integer_at(*x, i), to_integer(*low)), to_integer(*high)));
    }
  }
  context.set_value(0, std::move(result));
}

void where(RuleContext& context) {
  if (context.num_inputs() != 3) context.fail(concat("needs 3 inputs, got ", context.num_inputs()));
  const Shape shape = broadcast_inputs(context);
  context.set_output(0, common_type(context, 1), shape);
  const Value* condition = context.value(0);
  const Value* yes = context.value(1);
  const Value* no = context.value(2);
  if (condition == nullptr || yes == nullptr || no == nullptr || element_count(shape) > kMaxFoldedElements) return;
  Value result;
  for (Integer i = 0; i < element_count(shape); ++i) {
    const std::size_t chosen = integer_at(*condition, broadcast_source(i, shape, context.shape(0))) != 0 ? 1 : 2;
    const Integer from = broadcast_source(i, shape, context.shape(chosen));
    const Value& value = *context.value(chosen);
    if (is_real(common_type(context, 1))) {
      result.reals.push_back(real_at(value, from));
    } else {
      result.integers.push_back(integer_at(value, from));
    }
  }
  context.set_value(0, std::move(result));
}

void cast(RuleContext& context) {
  context.set_output(0, element_type(context, context.attributes().integer("to", 0)), context.shape(0));
  fold_copy(context, 0);
}

void cast_like(RuleContext& context) {
  context.set_output(0, context.dtype(1), context.shape(0));
  fold_copy(context, 0);
}

// The same bits as another type of the same width.
void bit_cast(RuleContext& context) {
  const DType to = element_type(context, context.attributes().integer("to", 0));
  if (dtype_row(to).size_bits != dtype_row(context.dtype(0)).size_bits) {
    context.fail(concat("cannot keep the bits of ", dtype_row(context.dtype(0)).name, " in ", dtype_row(to).name));
  }
  context.set_output(0, to, context.shape(0));
}

void identity(RuleContext& context) {
  same(context);
  fold_copy(context, 0);
}

void dropout(RuleContext& context) {
  identity(context);
  context.set_output(1, DType::boolean, context.shape(0));
}

// The slopes broadcast to the input, never the other way round.
void prelu(RuleContext& context) {
  const Shape& x = context.shape(0);
  const Shape& slope = context.shape(1);
  // Before opset 7 one slope for each channel stood without the spatial ones.
  const bool is_per_channel =
      slope.size() == 1 && x.size() > 1 && slope[0] == x[channel_axis(context.attributes(), x.size())];
  if (!is_per_channel && !broadcasts_to(slope, x)) {
    context.fail(concat("slope ", shape_text(slope), " does not broadcast to ", shape_text(x)));
  }
  same(context);
}

// silu(a) * b with two inputs; a gated half of one input otherwise.
void swiglu(RuleContext& context) {
  if (context.has_input(1)) {
    context.set_output(0, context.dtype(0), broadcast(context.shape(0), context.shape(1)));
    return;
  }
  Shape shape = context.shape(0);
  if (shape.empty() || shape.back() % 2 != 0) {
    context.fail(concat("the last dimension of ", shape_text(shape), " must be even: it is split in two"));
  }
  shape.back() /= 2;
  context.set_output(0, context.dtype(0), shape);
}

// One half times the sigmoid of the other.
void glu(RuleContext& context) {
  Shape shape = context.shape(0);
  const auto axis =
      static_cast<std::size_t>(context.normalized_axis(context.attributes().integer("axis", -1), context.rank(0)));
  if (shape[axis] % 2 != 0) {
    context.fail(concat("dimension ", axis, " of ", shape_text(shape), " must be even: it is split in two"));
  }
  shape[axis] /= 2;
  context.set_output(0, context.dtype(0), std::move(shape));
}

}  // namespace

const std::vector<RuleRow>& elementwise_rules() {
  static const std::vector<RuleRow> rows{
      {OperatorId::abs, unary<abs_r, absolute>},
      {OperatorId::neg, unary<neg_r, negative>},
      {OperatorId::relu, unary<relu_r>},
      {OperatorId::leaky_relu, same},
      {OperatorId::thresholded_relu, same},
      {OperatorId::clip, clip},
      {OperatorId::floor, unary<floor_r, itself>},
      {OperatorId::ceil, unary<ceil_r, itself>},
      {OperatorId::round, unary<round_r, itself>},
      {OperatorId::sign, unary<sign_r, sign_of>},
      {OperatorId::logical_not, logical_not},
      {OperatorId::bitwise_not, bitwise_not},
      {OperatorId::is_inf, predicate},
      {OperatorId::is_nan, predicate},
      {OperatorId::reciprocal, unary<reciprocal_r>},
      {OperatorId::sqrt, unary<sqrt_r>},
      {OperatorId::shrink, same},
      {OperatorId::prelu, prelu},
      {OperatorId::hard_sigmoid, same},
      {OperatorId::hard_swish, same},
      {OperatorId::softsign, same},
      {OperatorId::quick_gelu, same},
      {OperatorId::sigmoid, same},
      {OperatorId::silu, same},
      {OperatorId::swish, same},
      {OperatorId::elu, same},
      {OperatorId::selu, same},
      {OperatorId::celu, same},
      {OperatorId::gelu, same},
      {OperatorId::fast_gelu, same},
      {OperatorId::mish, same},
      {OperatorId::softplus, same},
      {OperatorId::exp, unary<exp_r>},
      {OperatorId::log, unary<log_r>},
      {OperatorId::erf, same},
      {OperatorId::tanh, same},
      {OperatorId::sin, same},
      {OperatorId::cos, same},
      {OperatorId::tan, same},
      {OperatorId::sinh, same},
      {OperatorId::cosh, same},
      {OperatorId::asin, same},
      {OperatorId::acos, same},
      {OperatorId::atan, same},
      {OperatorId::asinh, same},
      {OperatorId::acosh, same},
      {OperatorId::atanh, same},
      {OperatorId::bias_gelu, broadcasting},
      {OperatorId::swiglu, swiglu},
      {OperatorId::rsqrt, unary<rsqrt_r>},
      {OperatorId::add, binary<add_r, add>},
      {OperatorId::sub, binary<sub_r, sub>},
      {OperatorId::mul, binary<mul_r, mul>},
      {OperatorId::div, div},
      {OperatorId::mod, mod},
      {OperatorId::pow, pow},
      {OperatorId::bit_shift, bit_shift},
      {OperatorId::bitwise_and, bitwise<both>},
      {OperatorId::bitwise_or, bitwise<either>},
      {OperatorId::bitwise_xor, bitwise<exclusive>},
      {OperatorId::logical_and, comparison<logical_and, logical_and>},
      {OperatorId::logical_or, comparison<logical_or, logical_or>},
      {OperatorId::logical_xor, comparison<logical_xor, logical_xor>},
      {OperatorId::equal, comparison<equal_to, equal_to>},
      {OperatorId::greater, comparison<greater, greater>},
      {OperatorId::greater_or_equal, comparison<greater_or_equal, greater_or_equal>},
      {OperatorId::less, comparison<less, less>},
      {OperatorId::less_or_equal, comparison<less_or_equal, less_or_equal>},
      {OperatorId::max, variadic<max_r, larger>},
      {OperatorId::min, variadic<min_r, smaller>},
      {OperatorId::mean, broadcasting},
      {OperatorId::sum, variadic<add_r, add>},
      {OperatorId::where, where},
      {OperatorId::bias_add, broadcasting},
      {OperatorId::cast, cast},
      {OperatorId::cast_like, cast_like},
      {OperatorId::bit_cast, bit_cast},
      {OperatorId::identity, identity},
      {OperatorId::dropout, dropout},
      {OperatorId::lerp, broadcasting},
      {OperatorId::addcmul, broadcasting},
      {OperatorId::atan2, broadcasting},
      {OperatorId::squared_difference, broadcasting},
      {OperatorId::glu, glu},
  };
  return rows;
}

}  // namespace latpred::shapes
