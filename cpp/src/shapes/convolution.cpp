#include <algorithm>
#include <utility>

#include "latpred/text.h"
#include "operators/layout.h"
#include "operators/products.h"
#include "shapes/rules.h"
#include "shapes/window.h"

namespace latpred::shapes {
namespace {

// Input and weight of a convolution in any of its forms and orders, checked against each other.
struct Sides {
  Shape x;              // [batch, channels, spatial ...]
  const Shape& weight;  // as the file has it, for messages
  Filter filter;
  std::int64_t groups;
};

Sides sides_of(const RuleContext& context) {
  const Operands operands = operands_of(context.statement().op);
  const Shape x = channels_first(context.attributes(), context.shape(operands.a));
  const Shape& weight = context.shape(operands.b);
  if (x.size() < 3) context.fail(concat("input ", shape_text(x), " needs batch, channels and a spatial dimension"));
  if (weight.size() != x.size()) {
    context.fail(concat("weight ", shape_text(weight), " must have as many dimensions as input ", shape_text(x)));
  }
  const std::int64_t groups = context.attributes().integer("group", 1);
  if (groups < 1) context.fail(concat("'group' must be at least 1, got ", groups));
  if (groups > std::max<std::int64_t>(x[1], 1)) context.fail(concat(x[1], " channels cannot make ", groups, " groups"));
  Filter filter = filter_of(context.statement().op, context.attributes(), weight);
  const Shape kernel = context.attributes().integers("kernel_shape");
  if (!kernel.empty() && kernel != filter.window) {
    context.fail(concat("kernel_shape ", shape_text(kernel), " is not that of the weight ", shape_text(weight)));
  }
  return {x, weight, std::move(filter), groups};
}

void check_bias(const RuleContext& context, std::int64_t out_channels) {
  const auto bias = operands_of(context.statement().op).bias;
  if (!bias || !context.has_input(*bias)) return;
  const Shape& shape = context.shape(*bias);
  if (shape != Shape{out_channels}) {
    context.fail(concat("bias ", shape_text(shape), " must be [", out_channels, "], one for each output channel"));
  }
}

// [batch, channels, spatial ...], whatever order the file has.
Shape forward_shape(const RuleContext& context) {
  const auto [x, weight, filter, groups] = sides_of(context);
  if (x[1] % groups != 0 || x[1] / groups != filter.in) {
    context.fail(concat("input has ", x[1], " channels, weight ", shape_text(weight), " expects ", filter.in,
                        " in each of ", groups, groups == 1 ? " group" : " groups"));
  }
  if (filter.out % groups != 0) {
    context.fail(concat(filter.out, " output channels cannot be split into ", groups, " groups"));
  }
  check_bias(context, filter.out);
  const Shape input = spatial(x);
  const Window window = window_of(context, filter.window, input);
  Shape result{x[0], filter.out};
  const Shape positions = window_positions(context, window, input);
  result.insert(result.end(), positions.begin(), positions.end());
  return result;
}

void set_image(RuleContext& context, DType dtype, Shape shape) {
  context.set_output(0, dtype, in_file_order(context.attributes(), std::move(shape)));
}

void conv(RuleContext& context) { set_image(context, context.dtype(0), forward_shape(context)); }

void conv_integer(RuleContext& context) { set_image(context, DType::int32, forward_shape(context)); }

// Inputs x, its scale and zero point, weight, its scale and zero point, the output's scale and zero point, bias.
void qlinear_conv(RuleContext& context) {
  const bool has_zero_point = context.has_input(7);
  set_image(context, context.dtype(has_zero_point ? 7 : 0), forward_shape(context));
}

void conv_transpose(RuleContext& context) {
  const auto [x, weight, filter, groups] = sides_of(context);
  if (x[1] != filter.in) {
    context.fail(concat("input has ", x[1], " channels, weight ", shape_text(weight), " expects ", filter.in));
  }
  if (x[1] % groups != 0) context.fail(concat(x[1], " input channels cannot be split into ", groups, " groups"));
  const Shape input = spatial(x);
  Shape result{x[0], filter.out * groups};
  check_bias(context, result[1]);
  const std::size_t count = input.size();
  const Window window = window_of(context, filter.window, input);
  const Shape extra = per_axis(context, "output_padding", count, 0, 0);
  Shape wanted = context.attributes().integers("output_shape");
  // Some files put batch and channels beside it.
  if (wanted.size() == count + 2) wanted = spatial(channels_first(context.attributes(), wanted));
  if (!wanted.empty() && wanted.size() != count) {
    context.fail(concat("'output_shape' ", shape_text(wanted), " must have ", count, " entries"));
  }
  const bool is_same = context.attributes().text("auto_pad", "NOTSET").starts_with("SAME");
  for (std::size_t i = 0; i < count; ++i) {
    if (!wanted.empty()) {
      result.push_back(wanted[i]);
    } else if (is_same) {
      result.push_back(input[i] * window.strides[i]);
    } else {
      result.push_back((input[i] - 1) * window.strides[i] + extra[i] + (window.kernel[i] - 1) * window.dilations[i] +
                       1 - window.pads_begin[i] - window.pads_end[i]);
    }
  }
  set_image(context, context.dtype(0), result);
}

// Inputs x, weight, offset, bias, mask: the offset has two numbers for each element of each window.
void deform_conv(RuleContext& context) {
  const Shape shape = forward_shape(context);
  const Shape offset = channels_first(context.attributes(), context.shape(2));
  if (offset.size() != shape.size() || spatial(offset) != spatial(shape)) {
    context.fail(
        concat("offset ", shape_text(offset), " must have the output's spatial sizes, ", shape_text(spatial(shape))));
  }
  set_image(context, context.dtype(0), shape);
}

// One window along the length for each channel; the state holds the last inputs.
void causal_conv_with_state(RuleContext& context) {
  const Shape& x = context.shape(0);
  const Shape& weight = context.shape(1);
  if (x.size() != 3 || weight.size() != 3 || weight[0] != x[1] || weight[1] != 1) {
    context.fail(concat("weight ", shape_text(weight), " must be [channels, 1, window] for input ", shape_text(x),
                        " of [batch, channels, length]"));
  }
  check_bias(context, x[1]);
  context.set_output(0, context.dtype(0), x);
  context.set_output(1, context.dtype(0), {x[0], x[1], std::max<std::int64_t>(0, weight[2] - 1)});
}

}  // namespace

const std::vector<RuleRow>& convolution_rules() {
  static const std::vector<RuleRow> rows{
      {OperatorId::conv, conv},
      {OperatorId::conv_transpose, conv_transpose},
      {OperatorId::conv_integer, conv_integer},
      {OperatorId::qlinear_conv, qlinear_conv},
      {OperatorId::deform_conv, deform_conv},
      {OperatorId::fused_conv, conv},
      {OperatorId::causal_conv_with_state, causal_conv_with_state},
  };
  return rows;
}

}  // namespace latpred::shapes
