#include <algorithm>
#include <string>
#include <utility>

#include "readers/torch/aten_operators.h"

namespace latpred::readers {
namespace {

// "conv2d", "avg_pool3d": how many dimensions the window has.
std::size_t window_dimensions(const AtenCall& call) {
  const std::string_view name = call.row().name;
  for (std::size_t i = 1; i < name.size(); ++i) {
    if (name[i] == 'd' && name[i - 1] >= '1' && name[i - 1] <= '3') return static_cast<std::size_t>(name[i - 1] - '0');
  }
  call.fail("has no number of dimensions in its name");
}

// The same pads before and behind.
Shape both_sides(const Shape& padding) {
  Shape pads = padding;
  pads.insert(pads.end(), padding.begin(), padding.end());
  return pads;
}

// torch takes an image without a batch, too.
void append_image(const AtenCall& call, Statement statement, std::size_t dimensions) {
  const VariableId x = statement.inputs[0];
  if (call.rank(x) != dimensions + 1) return call.append(std::move(statement));
  const Attributes first = attributes_of({{"axes", Shape{0}}});
  statement.inputs[0] = call.part(OperatorId::unsqueeze, {x}, call.dtype(x), first);
  const VariableId batched = call.part(statement.op, statement.inputs, call.dtype(x), statement.attributes);
  Statement last = call.statement(OperatorId::squeeze, {batched});
  last.attributes = first;
  call.append(std::move(last));
}

void set_window(const AtenCall& call, Statement& statement, std::size_t count) {
  statement.attributes.set("strides", call.numbers("stride", count));
  statement.attributes.set("dilations", call.numbers("dilation", count));
}

void convolve(const AtenCall& call, std::size_t count, bool is_transposed) {
  Statement statement = call.statement(is_transposed ? OperatorId::conv_transpose : OperatorId::conv,
                                       {call.required("input"), call.required("weight")});
  if (call.has("bias")) statement.inputs.push_back(call.tensor("bias"));
  set_window(call, statement, count);
  statement.attributes.set("group", call.integer("groups"));
  const AtenValue* padding = call.node().find("padding");
  const bool is_word = padding != nullptr ? std::holds_alternative<std::string_view>(*padding)
                                          : call.node().target.ends_with(".padding");
  if (is_word) {
    statement.attributes.set("auto_pad", std::string(call.text("padding") == "same" ? "SAME_UPPER" : "VALID"));
  } else {
    statement.attributes.set("pads", both_sides(call.numbers("padding", count)));
  }
  if (is_transposed) statement.attributes.set("output_padding", call.numbers("output_padding", count));
  append_image(call, std::move(statement), count);
}

void conv(const AtenCall& call) { convolve(call, window_dimensions(call), false); }
void conv_transpose(const AtenCall& call) { convolve(call, window_dimensions(call), true); }

void convolution(const AtenCall& call) {
  const std::size_t rank = call.rank(call.required("weight"));
  if (rank < 3) call.fail("has a weight without a window");
  const std::size_t dimensions = rank - 2;
  convolve(call, dimensions, call.flag("transposed"));
}

// x, weight, offset, mask, bias in torchvision's order.
void deform_conv(const AtenCall& call) {
  Statement statement = call.statement(OperatorId::deform_conv, {call.required("input"), call.required("weight"),
                                                                 call.required("offset"), call.tensor("bias")});
  if (call.flag("use_mask")) statement.inputs.push_back(call.tensor("mask"));
  statement.attributes.set("strides", Shape{call.integer("stride_h"), call.integer("stride_w")});
  statement.attributes.set("pads", both_sides({call.integer("pad_h"), call.integer("pad_w")}));
  statement.attributes.set("dilations", Shape{call.integer("dilation_h"), call.integer("dilation_w")});
  statement.attributes.set("group", call.integer("groups"));
  statement.attributes.set("offset_group", call.integer("offset_groups"));
  call.append(std::move(statement));
}

void pool(const AtenCall& call) {
  const std::size_t count = window_dimensions(call);
  const bool is_max = call.row().op == OperatorId::max_pool;
  Statement statement = call.statement(call.row().op, {call.required("self")}, call.outputs(is_max ? 2 : 1));
  const Shape kernel = call.numbers("kernel_size", count);
  Shape strides = call.numbers("stride", count);
  if (strides.empty()) strides = kernel;
  statement.attributes.set("kernel_shape", kernel);
  statement.attributes.set("strides", strides);
  statement.attributes.set("pads", both_sides(call.numbers("padding", count)));
  if (is_max) statement.attributes.set("dilations", call.numbers("dilation", count));
  statement.attributes.set("ceil_mode", static_cast<std::int64_t>(call.flag("ceil_mode")));
  if (!is_max) {
    statement.attributes.set("count_include_pad", static_cast<std::int64_t>(call.flag("count_include_pad")));
  }
  append_image(call, std::move(statement), count);
}

void adaptive_pool(const AtenCall& call) {
  const std::size_t count = window_dimensions(call);
  const bool is_max = call.row().op == OperatorId::adaptive_max_pool;
  Statement statement = call.statement(call.row().op, {call.required("self")}, call.outputs(is_max ? 2 : 1));
  statement.attributes.set("output_size", call.numbers("output_size", count));
  append_image(call, std::move(statement), count);
}

void max_unpool(const AtenCall& call) {
  const VariableId x = call.required("self");
  Shape output = call.numbers("output_size", window_dimensions(call));
  if (output.size() > call.rank(x)) call.fail("has more sizes than dimensions");
  for (std::size_t axis = call.rank(x) - output.size(); axis-- > 0;) output.insert(output.begin(), call.size(x, axis));
  call.append(call.statement(OperatorId::max_unpool, {x, call.required("indices"), call.integers(output)}));
}

void im2col(const AtenCall& call) {
  constexpr std::size_t kPlane = 2;
  Statement statement = call.statement(OperatorId::im2col, {call.required("self")});
  set_window(call, statement, kPlane);
  statement.attributes.set("kernel_shape", call.numbers("kernel_size", kPlane));
  statement.attributes.set("pads", both_sides(call.numbers("padding", kPlane)));
  append_image(call, std::move(statement), kPlane);
}

void col2im(const AtenCall& call) {
  constexpr std::size_t kPlane = 2;
  Statement statement = call.statement(OperatorId::col2im, {call.required("self")});
  set_window(call, statement, kPlane);
  statement.attributes.set("image_shape", call.numbers("output_size", kPlane));
  statement.attributes.set("block_shape", call.numbers("kernel_size", kPlane));
  statement.attributes.set("pads", both_sides(call.numbers("padding", kPlane)));
  append_image(call, std::move(statement), 1);
}

using Op = OperatorId;

constexpr AtenRow kWindows[] = {
    {"conv1d", Op::conv, conv},
    {"conv2d", Op::conv, conv},
    {"conv3d", Op::conv, conv},
    {"convolution", Op::conv, convolution},
    {"_convolution", Op::conv, convolution},
    {"conv_transpose1d", Op::conv_transpose, conv_transpose},
    {"conv_transpose2d", Op::conv_transpose, conv_transpose},
    {"conv_transpose3d", Op::conv_transpose, conv_transpose},
    {"torchvision::deform_conv2d", Op::deform_conv, deform_conv},
    {"max_pool1d", Op::max_pool, pool},
    {"max_pool2d", Op::max_pool, pool},
    {"max_pool3d", Op::max_pool, pool},
    {"max_pool1d_with_indices", Op::max_pool, pool},
    {"max_pool2d_with_indices", Op::max_pool, pool},
    {"max_pool3d_with_indices", Op::max_pool, pool},
    {"avg_pool1d", Op::average_pool, pool},
    {"avg_pool2d", Op::average_pool, pool},
    {"avg_pool3d", Op::average_pool, pool},
    {"adaptive_avg_pool1d", Op::adaptive_average_pool, adaptive_pool},
    {"adaptive_avg_pool2d", Op::adaptive_average_pool, adaptive_pool},
    {"adaptive_avg_pool3d", Op::adaptive_average_pool, adaptive_pool},
    {"_adaptive_avg_pool2d", Op::adaptive_average_pool, adaptive_pool},
    {"_adaptive_avg_pool3d", Op::adaptive_average_pool, adaptive_pool},
    {"adaptive_max_pool1d", Op::adaptive_max_pool, adaptive_pool},
    {"adaptive_max_pool2d", Op::adaptive_max_pool, adaptive_pool},
    {"adaptive_max_pool3d", Op::adaptive_max_pool, adaptive_pool},
    {"max_unpool2d", Op::max_unpool, max_unpool},
    {"max_unpool3d", Op::max_unpool, max_unpool},
    {"im2col", Op::im2col, im2col},
    {"col2im", Op::col2im, col2im},
};

}  // namespace

std::span<const AtenRow> aten_windows() { return kWindows; }

}  // namespace latpred::readers
