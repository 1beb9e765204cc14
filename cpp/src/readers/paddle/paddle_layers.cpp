#include <algorithm>

#include "latpred/text.h"
#include "readers/paddle/paddle_lowering.h"

namespace latpred::readers {
namespace {

using Numbers = std::vector<std::int64_t>;

// Paddle's paddings of a window as ONNX has them: one number for each side, or begin and end of each dimension in
// turn, or four and five pairs where batch and channels are among them.
void set_padding(PaddleLowering& lowering, std::size_t count, Attributes& attributes) {
  const std::string algorithm = lowering.text({"padding_algorithm"}, "EXPLICIT");
  if (algorithm == "SAME") return attributes.set("auto_pad", std::string("SAME_UPPER"));
  if (algorithm == "VALID") return attributes.set("auto_pad", std::string("VALID"));
  if (algorithm != "EXPLICIT") {
    lowering.fail(concat("padding_algorithm '", algorithm, "' is none of EXPLICIT, SAME, VALID"));
  }
  const Numbers given = lowering.integers({"paddings"}).value_or(Numbers(count, 0));
  Numbers pads(2 * count, 0);
  if (given.size() == count || given.size() == 1) {
    for (std::size_t i = 0; i < count; ++i) pads[i] = pads[i + count] = given[given.size() == 1 ? 0 : i];
  } else if (given.size() == 2 * count) {
    for (std::size_t i = 0; i < count; ++i) {
      pads[i] = given[2 * i];
      pads[i + count] = given[2 * i + 1];
    }
  } else {
    lowering.fail(concat("its paddings ", shape_text(given), " do not fit ", count, " dimensions"));
  }
  attributes.set("pads", pads);
}

void set_per_dimension(PaddleLowering& lowering, std::string_view name, std::size_t count, Attributes& attributes) {
  auto numbers = lowering.integers({name});
  if (!numbers || numbers->empty()) return;
  if (numbers->size() == 1) numbers->assign(count, numbers->front());
  attributes.set(std::string(name), *numbers);
}

// Two dimensions unless the weight's rank or the operator's name says otherwise.
std::size_t spatial_dimensions(const PaddleLowering& lowering, VariableId weight) {
  const std::int64_t rank = lowering.rank(weight);
  if (rank >= 3 && rank <= 5) return static_cast<std::size_t>(rank - 2);
  return lowering.op().name.find("3d") != std::string::npos ? 3 : 2;
}

Attributes window_attributes(PaddleLowering& lowering, std::size_t count) {
  Attributes attributes;
  set_per_dimension(lowering, "strides", count, attributes);
  set_padding(lowering, count, attributes);
  if (lowering.is_channels_last()) attributes.set("channels_last", std::int64_t{1});
  return attributes;
}

Attributes convolution_attributes(PaddleLowering& lowering, VariableId filter) {
  const std::size_t count = spatial_dimensions(lowering, filter);
  Attributes attributes = window_attributes(lowering, count);
  // Under SAME Paddle resets the dilations to 1.
  if (!attributes.has("auto_pad") || attributes.text("auto_pad", "") != "SAME_UPPER") {
    set_per_dimension(lowering, "dilations", count, attributes);
  }
  attributes.set("group", lowering.integer({"groups"}, 1));
  return attributes;
}

void conv(PaddleLowering& lowering, OperatorId op) {
  const VariableId filter = lowering.needed("Filter", 1);
  std::vector<VariableId> inputs{lowering.needed("Input", 0), filter, lowering.input("Bias", 2)};
  const VariableId residual = lowering.input("ResidualData", 3);
  const std::string activation = lowering.text({"fuse_activation", "activation"}, "");
  Attributes attributes = convolution_attributes(lowering, filter);
  const VariableId output = lowering.output("Output", 0);
  const VariableId value = lowering.before(activation, output);
  if (residual == kAbsent) {
    lowering.emit(op, std::move(inputs), {value}, std::move(attributes));
  } else {
    const VariableId sum = lowering.make(op, std::move(inputs), std::move(attributes));
    lowering.emit(OperatorId::add, {sum, residual}, {value});
  }
  lowering.finish(value, activation, output);
}

// Weight [in, out / groups, window] as in ONNX. PIR has the output's size as input 2, behind the bias where there is
// one.
void conv_transpose(PaddleLowering& lowering, OperatorId op) {
  const VariableId filter = lowering.needed("Filter", 1);
  const bool has_bias = !lowering.op().is_pir || lowering.op().name == "conv2d_transpose_bias";
  Attributes attributes = convolution_attributes(lowering, filter);
  set_per_dimension(lowering, "output_padding", spatial_dimensions(lowering, filter), attributes);
  const PaddleIntegers size =
      lowering.parameter({"output_size"}, "", "", lowering.op().name == "conv2d_transpose_bias" ? 3 : 2);
  if (size.variable != kAbsent) lowering.fail("its output size is computed, which is not read");
  if (size.numbers && !size.numbers->empty()) attributes.set("output_shape", *size.numbers);
  lowering.emit(op, {lowering.needed("Input", 0), filter, has_bias ? lowering.input("Bias", 2) : kAbsent},
                {lowering.output("Output", 0)}, std::move(attributes));
}

void deformable_conv(PaddleLowering& lowering, OperatorId op) {
  const VariableId filter = lowering.needed("Filter", 2);
  lowering.emit(op,
                {lowering.needed("Input", 0), filter, lowering.needed("Offset", 1), kAbsent, lowering.input("Mask", 3)},
                {lowering.output("Output", 0)}, convolution_attributes(lowering, filter));
}

void pool(PaddleLowering& lowering, OperatorId) {
  const VariableId x = lowering.needed("X", 0);
  const std::string_view name = lowering.op().name;
  const std::string type = lowering.text({"pooling_type"}, name.starts_with("max") ? "max" : "avg");
  if (type != "max" && type != "avg") lowering.fail(concat("pooling_type '", type, "' is neither max nor avg"));
  const bool is_max = type == "max";
  std::vector<VariableId> outputs{lowering.output()};
  if (is_max && name.starts_with("max")) outputs.push_back(lowering.output("Mask", 1));
  Attributes attributes;
  if (lowering.is_channels_last()) attributes.set("channels_last", std::int64_t{1});
  if (lowering.integer({"global_pooling"}, 0) != 0) {
    outputs.resize(1);
    return lowering.emit(is_max ? OperatorId::global_max_pool : OperatorId::global_average_pool, {x}, outputs,
                         std::move(attributes));
  }
  const PaddleIntegers window = name == "pool2d" ? lowering.parameter({"ksize", "kernel_size"}, "", "", 1)
                                                 : PaddleIntegers{lowering.integers({"ksize", "kernel_size"}), kAbsent};
  if (!window.numbers) lowering.fail("its window is missing or computed, which is not read");
  Numbers kernel = *window.numbers;
  const std::size_t count = name.find("3d") != std::string_view::npos ? 3 : 2;
  if (kernel.size() == 1) kernel.assign(count, kernel.front());
  if (lowering.integer({"adaptive"}, 0) != 0) {
    attributes.set("output_size", kernel);
    return lowering.emit(is_max ? OperatorId::adaptive_max_pool : OperatorId::adaptive_average_pool, {x}, outputs,
                         std::move(attributes));
  }
  attributes = window_attributes(lowering, count);
  attributes.set("kernel_shape", kernel);
  attributes.set("ceil_mode", lowering.integer({"ceil_mode"}, 0));
  if (!is_max) attributes.set("count_include_pad", lowering.integer({"exclusive"}, 1) == 0 ? std::int64_t{1} : 0);
  lowering.emit(is_max ? OperatorId::max_pool : OperatorId::average_pool, {x}, outputs, std::move(attributes));
}

void warn_of_training(PaddleLowering& lowering) {
  if (lowering.integer({"is_test"}, 1) != 0 || lowering.integer({"use_global_stats"}, 0) != 0) return;
  lowering.assembly().warn(
      concat("operator '", lowering.op().node, "' was saved for training; predicted as in inference"));
}

// Inputs in PIR: x, mean, variance, scale, bias.
void batch_norm(PaddleLowering& lowering, OperatorId op) {
  warn_of_training(lowering);
  Attributes attributes = attributes_of({{"epsilon", lowering.real({"epsilon"}, 1e-5)}});
  if (lowering.is_channels_last()) attributes.set("channels_last", std::int64_t{1});
  lowering.emit(op,
                {lowering.needed("X", 0), lowering.input("Scale", 3), lowering.input("Bias", 4),
                 lowering.needed("Mean", 1), lowering.needed("Variance", 2)},
                {lowering.output("Y", 0)}, std::move(attributes));
}

void layer_norm(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, {lowering.needed("X", 0), lowering.input("Scale", 1), lowering.input("Bias", 2)},
                {lowering.output("Y", 0)},
                attributes_of({{"axis", lowering.integer({"begin_norm_axis"}, 1)},
                               {"epsilon", lowering.real({"epsilon"}, 1e-5)}}));
}

void rms_norm(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, {lowering.needed("x", 0), lowering.input("scale", 1)}, {lowering.output("y", 0)},
                attributes_of({{"axis", std::int64_t{-1}}, {"epsilon", lowering.real({"epsilon"}, 1e-5)}}));
}

void group_norm(PaddleLowering& lowering, OperatorId op) {
  Attributes attributes = attributes_of({{"num_groups", lowering.integer({"groups"}, 1)}});
  if (lowering.is_channels_last()) attributes.set("channels_last", std::int64_t{1});
  lowering.emit(op, {lowering.needed("X", 0), lowering.input("Scale", 1), lowering.input("Bias", 2)},
                {lowering.output("Y", 0)}, std::move(attributes));
}

void instance_norm(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, {lowering.needed("X", 0), lowering.input("Scale", 1), lowering.input("Bias", 2)},
                {lowering.output("Y", 0)});
}

void norm(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, {lowering.needed("X", 0)}, {lowering.output()},
                attributes_of({{"axis", lowering.integer({"axis"}, -1)}}));
}

void local_response_norm(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, {lowering.needed("X", 0)}, {lowering.output()},
                attributes_of({{"size", lowering.integer({"n"}, 5)}}));
}

void skip_layer_norm(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(
      op, {lowering.needed("X", 0), lowering.needed("Y", 1), lowering.needed("Scale", 2), lowering.input("Bias", 3)},
      {lowering.output()});
}

// Scale and shift for each channel: a batch norm whose statistics have been folded away.
void affine_channel(PaddleLowering& lowering, OperatorId op) {
  const VariableId x = lowering.needed("X", 0);
  VariableId scale = lowering.needed("Scale", 1);
  VariableId bias = lowering.needed("Bias", 2);
  const std::int64_t rank = lowering.rank(x);
  if (!lowering.is_channels_last() && rank > 2 && rank <= 64) {
    Numbers shape(rank - 1, 1);
    shape.front() = -1;
    scale = lowering.make(OperatorId::reshape, {scale}, attributes_of({{"shape", shape}}));
    bias = lowering.make(OperatorId::reshape, {bias}, attributes_of({{"shape", shape}}));
  }
  lowering.emit(op, {lowering.make(OperatorId::mul, {x, scale}), bias}, {lowering.output()});
}

// Sizes come from a list of tensors, a tensor, the scale, or attributes: the first that is there.
void interpolate(PaddleLowering& lowering, OperatorId op) {
  const VariableId x = lowering.needed("X", 0);
  const std::string_view name = lowering.op().name;
  const bool is_linear = name.starts_with("linear");
  const bool is_trilinear = name.starts_with("trilinear");
  const std::int64_t rank = lowering.rank(x) > 0 ? lowering.rank(x) : is_linear ? 3 : is_trilinear ? 5 : 4;
  if (rank < 3 || rank > 5) lowering.fail(concat("it resizes 1 to 3 dimensions, its input has ", rank));
  const bool is_channels_last = lowering.is_channels_last();
  Numbers axes;
  for (std::int64_t axis = 2; axis < rank; ++axis) axes.push_back(axis - (is_channels_last ? 1 : 0));
  Attributes attributes = attributes_of({{"axes", axes}, {"mode", lowering.text({"interp_method"}, "nearest")}});
  if (is_channels_last) attributes.set("channels_last", std::int64_t{1});
  std::vector<VariableId> inputs{x};
  PaddleIntegers sizes;
  if (const auto list = lowering.inputs("SizeTensor", 2); !list.empty()) {
    sizes = lowering.pieces(list);
  } else if (const VariableId size = lowering.input("OutSize", 1); size != kAbsent) {
    sizes = lowering.pieces({size});
  }
  if (sizes.is_given()) {
    place(sizes, "sizes", 3, inputs, attributes);
    return lowering.emit(op, std::move(inputs), {lowering.output()}, std::move(attributes));
  }
  auto scales = lowering.reals({"scale"}).value_or(std::vector<double>{});
  if (const Value* content = lowering.content(lowering.input("Scale", 3)); content != nullptr) {
    scales = content->reals;
  } else if (lowering.input("Scale", 3) != kAbsent) {
    inputs.resize(3, kAbsent);
    inputs[2] = lowering.input("Scale", 3);
    return lowering.emit(op, std::move(inputs), {lowering.output()}, std::move(attributes));
  }
  if (scales.size() == 1) scales.assign(axes.size(), scales.front());
  const bool has_scales = !scales.empty() && std::all_of(scales.begin(), scales.end(), [](double s) { return s > 0; });
  if (has_scales) {
    attributes.set("scales", scales);
  } else {
    Numbers numbers{lowering.integer({"out_d"}, -1), lowering.integer({"out_h"}, -1), lowering.integer({"out_w"}, -1)};
    numbers.erase(numbers.begin(), numbers.end() - static_cast<std::ptrdiff_t>(axes.size()));
    for (const std::int64_t size : numbers) {
      if (size <= 0) lowering.fail("it has neither a size nor a scale");
    }
    attributes.set("sizes", numbers);
  }
  lowering.emit(op, std::move(inputs), {lowering.output()}, std::move(attributes));
}

void grid_sample(PaddleLowering& lowering, OperatorId op) {
  const bool is_grid = op == OperatorId::grid_sample;
  if (is_grid) {
    return lowering.emit(op, {lowering.needed("X", 0), lowering.needed("Grid", 1)}, {lowering.output("Output", 0)});
  }
  std::vector<VariableId> inputs{lowering.needed("Theta", 0)};
  Attributes attributes;
  place(lowering.parameter({"output_shape"}, "OutputShape", "", 1), "size", 1, inputs, attributes);
  lowering.emit(op, std::move(inputs), {lowering.output("Output", 0)}, std::move(attributes));
}

void roi_align(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, {lowering.needed("X", 0), lowering.needed("ROIs", 1)}, {lowering.output()},
                attributes_of({{"output_height", lowering.integer({"pooled_height"}, 1)},
                               {"output_width", lowering.integer({"pooled_width"}, 1)}}));
}

void pixel_shuffle(PaddleLowering& lowering, OperatorId op) {
  Attributes attributes =
      attributes_of({{"blocksize", lowering.integer({"upscale_factor", "downscale_factor", "blocksize"}, 1)}});
  if (lowering.is_channels_last()) attributes.set("channels_last", std::int64_t{1});
  lowering.emit(op, {lowering.needed("X", 0)}, {lowering.output()}, std::move(attributes));
}

void quantize(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, {lowering.needed("X", 0), lowering.needed("Scale", 1), lowering.input("ZeroPoint", 2)},
                {lowering.output("Y", 0)}, attributes_of({{"axis", lowering.integer({"quant_axis"}, 0)}}));
}

}  // namespace

const std::vector<PaddleRow>& paddle_layer_rows() {
  static const std::vector<PaddleRow> rows{
      {"conv2d", kBoth, conv, OperatorId::conv},
      {"conv3d", kBoth, conv, OperatorId::conv},
      {"depthwise_conv2d", kBoth, conv, OperatorId::conv},
      {"conv2d_fusion", kBoth, conv, OperatorId::conv},
      {"fused_conv2d", kBoth, conv, OperatorId::conv},
      {"fused_conv3d", kBoth, conv, OperatorId::conv},
      {"fused_conv2d_add_act", kBoth, conv, OperatorId::conv},
      {"conv2d_bias", kBoth, conv, OperatorId::conv},
      {"conv2d_transpose", kBoth, conv_transpose, OperatorId::conv_transpose},
      {"conv2d_transpose_bias", kBoth, conv_transpose, OperatorId::conv_transpose},
      {"conv3d_transpose", kBoth, conv_transpose, OperatorId::conv_transpose},
      {"depthwise_conv2d_transpose", kBoth, conv_transpose, OperatorId::conv_transpose},
      {"deformable_conv", kBoth, deformable_conv, OperatorId::deform_conv},
      {"pool2d", kBoth, pool, OperatorId::average_pool},
      {"pool3d", kBoth, pool, OperatorId::average_pool},
      {"max_pool2d_with_index", kBoth, pool, OperatorId::max_pool},
      {"max_pool3d_with_index", kBoth, pool, OperatorId::max_pool},
      {"max_pool2d_v2", kBoth, pool, OperatorId::max_pool},
      {"batch_norm", kBoth, batch_norm, OperatorId::batch_norm},
      {"sync_batch_norm", kBoth, batch_norm, OperatorId::batch_norm},
      {"layer_norm", kBoth, layer_norm, OperatorId::layer_norm},
      {"rms_norm", kBoth, rms_norm, OperatorId::rms_norm},
      {"group_norm", kBoth, group_norm, OperatorId::group_norm},
      {"instance_norm", kBoth, instance_norm, OperatorId::instance_norm},
      {"norm", kBoth, norm, OperatorId::lp_norm},
      {"lrn", kBoth, local_response_norm, OperatorId::lrn},
      {"skip_layernorm", kBoth, skip_layer_norm, OperatorId::skip_layer_norm},
      {"affine_channel", kBoth, affine_channel, OperatorId::add},
      {"bicubic_interp", kBoth, interpolate, OperatorId::resize},
      {"bicubic_interp_v2", kBoth, interpolate, OperatorId::resize},
      {"bilinear_interp", kBoth, interpolate, OperatorId::resize},
      {"bilinear_interp_v2", kBoth, interpolate, OperatorId::resize},
      {"linear_interp", kBoth, interpolate, OperatorId::resize},
      {"linear_interp_v2", kBoth, interpolate, OperatorId::resize},
      {"nearest_interp", kBoth, interpolate, OperatorId::resize},
      {"nearest_interp_v2", kBoth, interpolate, OperatorId::resize},
      {"trilinear_interp", kBoth, interpolate, OperatorId::resize},
      {"trilinear_interp_v2", kBoth, interpolate, OperatorId::resize},
      {"grid_sample", kBoth, grid_sample, OperatorId::grid_sample},
      {"grid_sampler", kBoth, grid_sample, OperatorId::grid_sample},
      {"affine_grid", kBoth, grid_sample, OperatorId::affine_grid},
      {"roi_align", kBoth, roi_align, OperatorId::roi_align},
      {"pixel_shuffle", kBoth, pixel_shuffle, OperatorId::depth_to_space},
      {"pixel_unshuffle", kBoth, pixel_shuffle, OperatorId::space_to_depth},
      {"space_to_depth", kBoth, pixel_shuffle, OperatorId::space_to_depth},
      {"quantize_linear", kBoth, quantize, OperatorId::quantize_linear},
      {"dequantize_linear", kBoth, quantize, OperatorId::dequantize_linear},
  };
  return rows;
}

}  // namespace latpred::readers
