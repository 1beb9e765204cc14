#include "latpred/text.h"
#include "shapes/broadcast.h"
#include "shapes/element_type.h"
#include "shapes/rules.h"

namespace latpred::shapes {
namespace {

DType output_type(const RuleContext& context, DType fallback) {
  const std::int64_t wanted = context.attributes().integer("output_dtype", 0);
  return wanted == 0 ? fallback : element_type(context, wanted);
}

void check_scale(const RuleContext& context) {
  const Shape& x = context.shape(0);
  const Shape& scale = context.shape(1);
  if (scale.size() > 1 && scale.size() != x.size()) {
    context.fail(concat("scale ", shape_text(scale),
                        " is neither one number, one for each channel, nor one for each "
                        "block of ",
                        shape_text(x)));
  }
  if (scale.size() == 1 && scale[0] != 1 && !x.empty()) {
    const std::int64_t axis = context.normalized_axis(context.attributes().integer("axis", 1), context.rank(0));
    if (scale[0] != x[axis]) {
      context.fail(concat("scale ", shape_text(scale), " does not fit dimension ", axis, " of ", shape_text(x)));
    }
  }
}

// The type of the zero point, uint8 without one.
void quantize_linear(RuleContext& context) {
  check_scale(context);
  const DType zero_point = context.has_input(2) ? context.dtype(2) : DType::uint8;
  context.set_output(0, output_type(context, zero_point), context.shape(0));
}

void dequantize_linear(RuleContext& context) {
  check_scale(context);
  context.set_output(0, output_type(context, context.dtype(1)), context.shape(0));
}

void dynamic_quantize_linear(RuleContext& context) {
  context.set_output(0, DType::uint8, context.shape(0));
  context.set_output(1, DType::float32, {});
  context.set_output(2, DType::uint8, {});
}

// Inputs a, its scale and zero point, b, its scale and zero point, the output's scale and zero point.
void qlinear_binary(RuleContext& context) {
  context.set_output(0, context.dtype(0), broadcast(context.shape(0), context.shape(3)));
}

void qlinear_unary(RuleContext& context) { context.set_output(0, context.dtype(0), context.shape(0)); }

// Inputs the output's scale and zero point, then each operand with its own.
void qlinear_concat(RuleContext& context) {
  constexpr std::size_t kFirst = 2;
  constexpr std::size_t kStep = 3;
  Shape result = context.shape(kFirst);
  const std::int64_t axis = context.normalized_axis(context.attributes().integer("axis", 1), context.rank(kFirst));
  for (std::size_t i = kFirst + kStep; i < context.num_inputs(); i += kStep) {
    Shape operand = context.shape(i);
    if (operand.size() != result.size()) {
      context.fail(concat(shape_text(operand), " cannot be joined to ", shape_text(result)));
    }
    std::int64_t joined = 0;
    if (__builtin_add_overflow(result[axis], operand[axis], &joined)) context.fail("the joined tensor is too large");
    operand[axis] = result[axis];
    if (operand != result) {
      context.fail(
          concat(shape_text(context.shape(i)), " cannot be joined to ", shape_text(result), " along dimension ", axis));
    }
    result[axis] = joined;
  }
  context.set_output(0, context.dtype(kFirst), result);
}

}  // namespace

const std::vector<RuleRow>& quantization_rules() {
  static const std::vector<RuleRow> rows{
      {OperatorId::quantize_linear, quantize_linear},
      {OperatorId::dequantize_linear, dequantize_linear},
      {OperatorId::dynamic_quantize_linear, dynamic_quantize_linear},
      {OperatorId::qlinear_add, qlinear_binary},
      {OperatorId::qlinear_mul, qlinear_binary},
      {OperatorId::qlinear_concat, qlinear_concat},
      {OperatorId::qlinear_sigmoid, qlinear_unary},
      {OperatorId::qlinear_leaky_relu, qlinear_unary},
  };
  return rows;
}

}  // namespace latpred::shapes
