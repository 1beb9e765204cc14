#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "readers/paddle/paddle_lowering.h"

namespace latpred::readers {
namespace {

void unary(PaddleLowering& lowering, OperatorId op) {
  Attributes attributes;
  const auto keep = [&](PaddleLowering::Names names, const char* as) {
    for (const std::string_view name : names) {
      if (lowering.op().attributes.has(name)) attributes.set(as, lowering.real({name}, 0));
    }
  };
  if (op == OperatorId::leaky_relu || op == OperatorId::elu || op == OperatorId::celu) {
    keep({"alpha", "negative_slope"}, "alpha");
  }
  if (op == OperatorId::gelu && lowering.integer({"approximate"}, 0) != 0) {
    attributes.set("approximate", std::string("tanh"));
  }
  lowering.emit(op, {lowering.needed("X", 0)}, {lowering.output()}, std::move(attributes));
}

// Operators that hand on what they get: copies between places, hints for tracing, what only training does.
void identity(PaddleLowering& lowering, OperatorId op) {
  const VariableId x = lowering.op().inputs.empty() || lowering.op().inputs.front().variables.empty()
                           ? kAbsent
                           : lowering.op().inputs.front().variables.front();
  if (x == kAbsent) lowering.fail("it has no input");
  lowering.emit(op, {lowering.op().is_pir || lowering.input("X", 0) == kAbsent ? x : lowering.input("X", 0)},
                {lowering.output()});
}

void dropout(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, {lowering.needed("X", 0)}, {lowering.output()});
}

// A .pdmodel may say with `axis` where the second operand's dimensions stand in the first's; it then gets ones behind.
VariableId aligned(PaddleLowering& lowering, VariableId x, VariableId y) {
  const std::int64_t axis = lowering.integer({"axis"}, -1);
  const std::int64_t rank = lowering.rank(x);
  const std::int64_t own_rank = lowering.rank(y);
  if (axis < 0 || rank < 0 || own_rank < 1 || axis + own_rank >= rank) return y;
  if (rank - own_rank > 64) lowering.fail("its operands differ by more dimensions than any network has");
  std::vector<std::int64_t> axes;
  for (std::int64_t i = own_rank; i < rank - axis; ++i) axes.push_back(i);
  return lowering.make(OperatorId::unsqueeze, {y}, attributes_of({{"axes", axes}}));
}

void binary(PaddleLowering& lowering, OperatorId op) {
  const VariableId x = lowering.needed("X", 0);
  const VariableId y = aligned(lowering, x, lowering.needed("Y", 1));
  const std::string activation = lowering.text({"fuse_activation"}, "");
  const VariableId value = lowering.before(activation, lowering.output());
  lowering.emit(op, {x, y}, {value});
  lowering.finish(value, activation, lowering.output());
}

void not_equal(PaddleLowering& lowering, OperatorId op) {
  const VariableId x = lowering.needed("X", 0);
  const VariableId y = aligned(lowering, x, lowering.needed("Y", 1));
  lowering.emit(OperatorId::logical_not, {lowering.make(op, {x, y})}, {lowering.output()});
}

void sum_of_list(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, lowering.inputs("X", 0), {lowering.output()});
}

void square(PaddleLowering& lowering, OperatorId op) {
  const VariableId x = lowering.needed("X", 0);
  lowering.emit(op, {x, x}, {lowering.output()});
}

void clip(PaddleLowering& lowering, OperatorId op) {
  const VariableId low = lowering.input("Min", 1);
  const VariableId high = lowering.input("Max", 2);
  Attributes attributes;
  if (low == kAbsent) attributes.set("min", lowering.real({"min", "t_min"}, 0));
  if (high == kAbsent) attributes.set("max", lowering.real({"max", "t_max"}, 0));
  lowering.emit(op, {lowering.needed("X", 0), low, high}, {lowering.output()}, std::move(attributes));
}

void relu6(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, {lowering.needed("X", 0)}, {lowering.output()},
                attributes_of({{"min", 0.0}, {"max", lowering.real({"threshold"}, 6.0)}}));
}

void swish(PaddleLowering& lowering, OperatorId) {
  const bool is_silu = lowering.real({"beta"}, 1.0) == 1.0;
  lowering.emit(is_silu ? OperatorId::silu : OperatorId::swish, {lowering.needed("X", 0)}, {lowering.output()});
}

void prelu(PaddleLowering& lowering, OperatorId op) {
  const VariableId x = lowering.needed("X", 0);
  VariableId slope = lowering.needed("Alpha", 1);
  const std::int64_t rank = lowering.rank(x);
  const bool is_per_channel = lowering.text({"mode"}, "all") == "channel";
  if (is_per_channel && !lowering.is_channels_last() && rank > 2 && rank <= 64) {
    std::vector<std::int64_t> shape(rank - 1, 1);
    shape.front() = -1;
    slope = lowering.make(OperatorId::reshape, {slope}, attributes_of({{"shape", shape}}));
  }
  lowering.emit(op, {x, slope}, {lowering.output()});
}

// scale * x + bias, or scale * (x + bias).
void scale(PaddleLowering& lowering, OperatorId) {
  VariableId value = lowering.needed("X", 0);
  const VariableId given = lowering.input("ScaleTensor", 1);
  const double bias = lowering.real({"bias"}, 0);
  const Value* content = lowering.content(given);
  double factor = lowering.real({"scale"}, 1);
  if (content != nullptr && content->reals.size() + content->integers.size() == 1) {
    factor = content->reals.empty() ? static_cast<double>(content->integers[0]) : content->reals[0];
  }
  const bool is_computed = given != kAbsent && content == nullptr;
  const bool scales = is_computed || factor != 1;
  const bool adds_first = lowering.integer({"bias_after_scale"}, 1) == 0;
  struct Step {
    OperatorId op;
    VariableId operand;
  };
  std::vector<Step> steps;
  const VariableId x = value;
  if (scales) steps.push_back({OperatorId::mul, is_computed ? given : lowering.scalar_like(x, factor)});
  if (bias != 0) steps.push_back({OperatorId::add, lowering.scalar_like(x, bias)});
  if (adds_first) std::reverse(steps.begin(), steps.end());
  if (steps.empty()) return lowering.emit(OperatorId::identity, {x}, {lowering.output()});
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) value = lowering.make(steps[i].op, {value, steps[i].operand});
  lowering.emit(steps.back().op, {value, steps.back().operand}, {lowering.output()});
}

void increment(PaddleLowering& lowering, OperatorId op) {
  const VariableId x = lowering.needed("X", 0);
  lowering.emit(op, {x, lowering.scalar_like(x, lowering.real({"step", "value"}, 1))}, {lowering.output()});
}

void power(PaddleLowering& lowering, OperatorId op) {
  const VariableId x = lowering.needed("X", 0);
  const VariableId given = lowering.op().is_pir ? kAbsent : lowering.input("FactorTensor", 1);
  const VariableId exponent = given != kAbsent ? given : lowering.scalar_like(x, lowering.real({"factor", "y"}, 1));
  lowering.emit(op, {x, exponent}, {lowering.output()});
}

void cast(PaddleLowering& lowering, OperatorId op) {
  const VariableId output = lowering.output();
  const DType declared = output == kAbsent ? DType::undefined : lowering.variable(output).dtype;
  const DType to = lowering.dtype({"out_dtype", "dtype"}, declared);
  if (to == DType::undefined) lowering.fail("the type that it casts to is not known here");
  lowering.emit(op, {lowering.needed("X", 0)}, {output}, attributes_of({{"to", static_cast<std::int64_t>(to)}}));
}

void where(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, {lowering.needed("Condition", 0), lowering.needed("X", 1), lowering.needed("Y", 2)},
                {lowering.output()});
}

void masked_fill(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, {lowering.needed("Mask", 1), lowering.needed("Value", 2), lowering.needed("X", 0)},
                {lowering.output()});
}

// Softmax of the scores under a mask that is added to them.
void masked_softmax(PaddleLowering& lowering, OperatorId op) {
  std::vector<VariableId> operands{lowering.needed("X", 0)};
  if (const VariableId mask = lowering.input("Mask", 1); mask != kAbsent) operands.push_back(mask);
  const VariableId scores = operands.size() == 2 ? lowering.make(OperatorId::add, operands) : operands.front();
  lowering.emit(op, {scores}, {lowering.output()}, attributes_of({{"axis", std::int64_t{-1}}}));
}

void softmax(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, {lowering.needed("X", 0)}, {lowering.output()},
                attributes_of({{"axis", lowering.integer({"axis"}, -1)}}));
}

void lerp(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, {lowering.needed("X", 0), lowering.needed("Y", 1), lowering.needed("Weight", 2)},
                {lowering.output()});
}

void swiglu(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, {lowering.needed("x", 0), lowering.input("y", 1)}, {lowering.output("out", 0)});
}

}  // namespace

const std::vector<PaddleRow>& paddle_elementwise_rows() {
  static const std::vector<PaddleRow> rows{
      {"abs", kBoth, unary, OperatorId::abs},
      {"acos", kBoth, unary, OperatorId::acos},
      {"acosh", kBoth, unary, OperatorId::acosh},
      {"asin", kBoth, unary, OperatorId::asin},
      {"asinh", kBoth, unary, OperatorId::asinh},
      {"atan", kBoth, unary, OperatorId::atan},
      {"atanh", kBoth, unary, OperatorId::atanh},
      {"bitwise_not", kBoth, unary, OperatorId::bitwise_not},
      {"ceil", kBoth, unary, OperatorId::ceil},
      {"celu", kBoth, unary, OperatorId::celu},
      {"cos", kBoth, unary, OperatorId::cos},
      {"cosh", kBoth, unary, OperatorId::cosh},
      {"elu", kBoth, unary, OperatorId::elu},
      {"erf", kBoth, unary, OperatorId::erf},
      {"exp", kBoth, unary, OperatorId::exp},
      {"expm1", kBoth, unary, OperatorId::exp},
      {"fake_quantize_dequantize_abs_max", kBoth, unary, OperatorId::round},
      {"fake_quantize_dequantize_moving_average_abs_max", kBoth, unary, OperatorId::round},
      {"fake_channel_wise_quantize_dequantize_abs_max", kBoth, unary, OperatorId::round},
      {"floor", kBoth, unary, OperatorId::floor},
      {"gelu", kBoth, unary, OperatorId::gelu},
      {"hard_shrink", kBoth, unary, OperatorId::shrink},
      {"hard_sigmoid", kBoth, unary, OperatorId::hard_sigmoid},
      {"hard_swish", kBoth, unary, OperatorId::hard_swish},
      {"hardshrink", kBoth, unary, OperatorId::shrink},
      {"hardsigmoid", kBoth, unary, OperatorId::hard_sigmoid},
      {"hardswish", kBoth, unary, OperatorId::hard_swish},
      {"isfinite", kPir, unary, OperatorId::is_inf},
      {"isfinite_v2", kBoth, unary, OperatorId::is_inf},
      {"isinf", kPir, unary, OperatorId::is_inf},
      {"isinf_v2", kBoth, unary, OperatorId::is_inf},
      {"isnan", kPir, unary, OperatorId::is_nan},
      {"isnan_v2", kBoth, unary, OperatorId::is_nan},
      {"leaky_relu", kBoth, unary, OperatorId::leaky_relu},
      {"log", kBoth, unary, OperatorId::log},
      {"log10", kBoth, unary, OperatorId::log},
      {"log1p", kBoth, unary, OperatorId::log},
      {"log2", kBoth, unary, OperatorId::log},
      {"logical_not", kBoth, unary, OperatorId::logical_not},
      {"logsigmoid", kBoth, unary, OperatorId::softplus},
      {"mish", kBoth, unary, OperatorId::mish},
      {"reciprocal", kBoth, unary, OperatorId::reciprocal},
      {"relu", kBoth, unary, OperatorId::relu},
      {"round", kBoth, unary, OperatorId::round},
      {"rsqrt", kBoth, unary, OperatorId::rsqrt},
      {"selu", kBoth, unary, OperatorId::selu},
      {"sigmoid", kBoth, unary, OperatorId::sigmoid},
      {"sign", kBoth, unary, OperatorId::sign},
      {"silu", kBoth, unary, OperatorId::silu},
      {"sin", kBoth, unary, OperatorId::sin},
      {"sinh", kBoth, unary, OperatorId::sinh},
      {"softplus", kBoth, unary, OperatorId::softplus},
      {"softshrink", kBoth, unary, OperatorId::shrink},
      {"softsign", kBoth, unary, OperatorId::softsign},
      {"sqrt", kBoth, unary, OperatorId::sqrt},
      {"stanh", kBoth, unary, OperatorId::tanh},
      {"tan", kBoth, unary, OperatorId::tan},
      {"tanh", kBoth, unary, OperatorId::tanh},
      {"thresholded_relu", kBoth, unary, OperatorId::thresholded_relu},

      {"assign", kBoth, identity, OperatorId::identity},
      {"assign_out", kBoth, identity, OperatorId::identity},
      {"share_data", kBoth, identity, OperatorId::identity},
      {"share_buffer", kBoth, identity, OperatorId::identity},
      {"memcpy", kBoth, identity, OperatorId::identity},
      {"memcpy_d2h", kBoth, identity, OperatorId::identity},
      {"memcpy_h2d", kBoth, identity, OperatorId::identity},
      {"lod_reset", kBoth, identity, OperatorId::identity},
      {"print", kBoth, identity, OperatorId::identity},
      {"c_identity", kBoth, identity, OperatorId::identity},
      {"dropout", kBoth, dropout, OperatorId::dropout},

      {"add", kPir, binary, OperatorId::add},
      {"atan2", kPir, binary, OperatorId::atan2},
      {"bitwise_and", kBoth, binary, OperatorId::bitwise_and},
      {"bitwise_or", kBoth, binary, OperatorId::bitwise_or},
      {"bitwise_xor", kBoth, binary, OperatorId::bitwise_xor},
      {"divide", kPir, binary, OperatorId::div},
      {"elementwise_add", kProgram, binary, OperatorId::add},
      {"elementwise_div", kProgram, binary, OperatorId::div},
      {"elementwise_floordiv", kProgram, binary, OperatorId::div},
      {"elementwise_fmax", kProgram, binary, OperatorId::max},
      {"elementwise_fmin", kProgram, binary, OperatorId::min},
      {"elementwise_max", kProgram, binary, OperatorId::max},
      {"elementwise_min", kProgram, binary, OperatorId::min},
      {"elementwise_mod", kProgram, binary, OperatorId::mod},
      {"elementwise_mul", kProgram, binary, OperatorId::mul},
      {"elementwise_pow", kBoth, binary, OperatorId::pow},
      {"elementwise_sub", kProgram, binary, OperatorId::sub},
      {"equal", kBoth, binary, OperatorId::equal},
      {"floor_divide", kPir, binary, OperatorId::div},
      {"fmax", kPir, binary, OperatorId::max},
      {"fmin", kPir, binary, OperatorId::min},
      {"fused_elementwise_add", kBoth, binary, OperatorId::add},
      {"fused_elementwise_mul", kBoth, binary, OperatorId::mul},
      {"greater_equal", kBoth, binary, OperatorId::greater_or_equal},
      {"greater_than", kBoth, binary, OperatorId::greater},
      {"grad_add", kBoth, binary, OperatorId::add},
      {"less_equal", kBoth, binary, OperatorId::less_or_equal},
      {"less_than", kBoth, binary, OperatorId::less},
      {"logical_and", kBoth, binary, OperatorId::logical_and},
      {"logical_or", kBoth, binary, OperatorId::logical_or},
      {"logical_xor", kBoth, binary, OperatorId::logical_xor},
      {"maximum", kPir, binary, OperatorId::max},
      {"minimum", kPir, binary, OperatorId::min},
      {"minus", kBoth, binary, OperatorId::sub},
      {"multiply", kPir, binary, OperatorId::mul},
      {"remainder", kPir, binary, OperatorId::mod},
      {"subtract", kPir, binary, OperatorId::sub},
      {"not_equal", kBoth, not_equal, OperatorId::equal},
      {"add_n", kPir, sum_of_list, OperatorId::sum},
      {"sum", kProgram, sum_of_list, OperatorId::sum},

      {"square", kBoth, square, OperatorId::mul},
      {"clip", kBoth, clip, OperatorId::clip},
      {"brelu", kBoth, clip, OperatorId::clip},
      {"hardtanh", kBoth, clip, OperatorId::clip},
      {"relu6", kBoth, relu6, OperatorId::clip},
      {"swish", kBoth, swish, OperatorId::silu},
      {"prelu", kBoth, prelu, OperatorId::prelu},
      {"scale", kBoth, scale, OperatorId::mul},
      {"increment", kBoth, increment, OperatorId::add},
      {"pow", kBoth, power, OperatorId::pow},
      {"cast", kBoth, cast, OperatorId::cast},
      {"where", kBoth, where, OperatorId::where},
      {"masked_fill", kBoth, masked_fill, OperatorId::where},
      {"lerp", kBoth, lerp, OperatorId::lerp},
      {"swiglu", kBoth, swiglu, OperatorId::swiglu},
      {"softmax", kBoth, softmax, OperatorId::softmax},
      {"log_softmax", kBoth, softmax, OperatorId::log_softmax},
      {"fused_softmax_mask", kBoth, masked_softmax, OperatorId::softmax},
      {"fused_softmax_mask_upper_triangle", kBoth, masked_softmax, OperatorId::softmax},
  };
  return rows;
}

}  // namespace latpred::readers
