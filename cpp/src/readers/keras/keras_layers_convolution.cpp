#include <algorithm>
#include <utility>

#include "latpred/text.h"
#include "readers/keras/keras_network.h"

namespace latpred::readers::keras {
namespace {

// The window of a convolution: its sizes and where it may stand.
struct Window {
  Shape kernel;
  Shape strides;
  Shape dilations;
  std::string padding;
};

Window window_of(const Call& call, std::size_t count) {
  return {call.sizes("kernel_size", count, 1), call.sizes("strides", count, 1), call.sizes("dilation_rate", count, 1),
          call.text("padding", "valid")};
}

Settings settings_of(const Call& call, const Window& window, std::int64_t groups, const char* filter) {
  Settings settings{{"kernel_shape", window.kernel},
                    {"strides", window.strides},
                    {"dilations", window.dilations},
                    {"group", groups},
                    {"filter", filter},
                    {"channels_last", std::int64_t{call.channels_last()}}};
  if (window.padding == "same") {
    settings.emplace_back("auto_pad", "SAME_UPPER");
  } else if (window.padding == "causal") {
    settings.emplace_back("pads", Shape{(window.kernel[0] - 1) * window.dilations[0], 0});
  } else if (window.padding != "valid") {
    call.unknown_setting("padding", window.padding, {"valid", "same", "causal"});
  }
  return settings;
}

VariableId bias_of(Call& call, std::int64_t channels) {
  return call.flag("use_bias", true) ? call.weight("bias", {channels}) : kAbsent;
}

Variables with_bias(VariableId x, VariableId kernel, VariableId bias) {
  return bias == kAbsent ? Variables{x, kernel} : Variables{x, kernel, bias};
}

Shape joined(const Shape& window, std::int64_t a, std::int64_t b) {
  Shape shape = window;
  shape.push_back(a);
  shape.push_back(b);
  return shape;
}

template <std::size_t kCount>
Variables conv(Call& call) {
  const VariableId x = call.input();
  call.check_image(x, kCount);
  const Window window = window_of(call, kCount);
  if (window.padding == "causal" && kCount != 1) call.fail("only convolutions in one dimension are causal");
  const std::int64_t channels = call.known_size(x, call.channel_axis(x));
  const std::int64_t groups = call.has("groups") ? call.size("groups") : 1;
  const std::int64_t filters = call.size("filters");
  if (channels % groups != 0) call.fail(concat(channels, " channels cannot be split into ", groups, " groups"));
  const VariableId kernel = call.weight("kernel", joined(window.kernel, channels / groups, filters));
  const VariableId y = call.make(OperatorId::conv, with_bias(x, kernel, bias_of(call, filters)),
                                 settings_of(call, window, groups, "HWIO"));
  return {call.activate(y)};
}

template <std::size_t kCount>
Variables depthwise_conv(Call& call) {
  const VariableId x = call.input();
  call.check_image(x, kCount);
  const Window window = window_of(call, kCount);
  const std::int64_t channels = call.known_size(x, call.channel_axis(x));
  const std::int64_t multiplier = call.has("depth_multiplier") ? call.size("depth_multiplier") : 1;
  const VariableId kernel = call.weight("kernel", joined(window.kernel, channels, multiplier));
  const VariableId y = call.make(OperatorId::conv, with_bias(x, kernel, bias_of(call, channels * multiplier)),
                                 settings_of(call, window, channels, "HWIM"));
  return {call.activate(y)};
}

// A convolution of each channel, then one of 1 x 1.
template <std::size_t kCount>
Variables separable_conv(Call& call) {
  const VariableId x = call.input();
  call.check_image(x, kCount);
  const Window window = window_of(call, kCount);
  const std::int64_t channels = call.known_size(x, call.channel_axis(x));
  const std::int64_t multiplier = call.has("depth_multiplier") ? call.size("depth_multiplier") : 1;
  const std::int64_t filters = call.size("filters");
  const VariableId depthwise = call.weight("depthwise_kernel", joined(window.kernel, channels, multiplier));
  const VariableId between =
      call.make(OperatorId::conv, {x, depthwise}, settings_of(call, window, channels, "HWIM"), "depthwise");
  const Shape ones(kCount, 1);
  const VariableId pointwise = call.weight("pointwise_kernel", joined(ones, channels * multiplier, filters));
  const VariableId y = call.make(OperatorId::conv, with_bias(between, pointwise, bias_of(call, filters)),
                                 settings_of(call, {ones, ones, ones, "valid"}, 1, "HWIO"));
  return {call.activate(y)};
}

// Keras's size of the result: what the window spans, with a padding of the output that makes room for the stride.
template <std::size_t kCount>
Variables conv_transpose(Call& call) {
  const VariableId x = call.input();
  call.check_image(x, kCount);
  const Window window = window_of(call, kCount);
  const std::int64_t channels = call.known_size(x, call.channel_axis(x));
  const std::int64_t filters = call.size("filters");
  const bool is_same = window.padding == "same";
  if (!is_same && window.padding != "valid") call.unknown_setting("padding", window.padding, {"valid", "same"});
  Window plain = window;
  const bool has_output_padding = call.has("output_padding");
  if (!is_same || has_output_padding) plain.padding = "valid";
  Settings settings = settings_of(call, plain, 1, "HWOI");
  Shape extra = call.sizes("output_padding", kCount, 0, 0);
  Shape pads(2 * kCount, 0);
  for (std::size_t i = 0; i < kCount; ++i) {
    const std::int64_t span = (window.kernel[i] - 1) * window.dilations[i] + 1;
    if (!has_output_padding) extra[i] = std::max<std::int64_t>(0, window.strides[i] - span);
    if (is_same) pads[i] = pads[i + kCount] = span / 2;
  }
  if (plain.padding == "valid") {
    settings.emplace_back("output_padding", extra);
    settings.emplace_back("pads", pads);
  }
  const VariableId kernel = call.weight("kernel", joined(window.kernel, filters, channels));
  const VariableId y =
      call.make(OperatorId::conv_transpose, with_bias(x, kernel, bias_of(call, filters)), std::move(settings));
  return {call.activate(y)};
}

}  // namespace

const std::vector<LayerRow>& convolution_layers() {
  static const std::vector<LayerRow> rows{
      {"Conv1D", conv<1>},
      {"Conv2D", conv<2>},
      {"Conv3D", conv<3>},
      {"Convolution1D", conv<1>},
      {"Convolution2D", conv<2>},
      {"Convolution3D", conv<3>},
      {"DepthwiseConv1D", depthwise_conv<1>},
      {"DepthwiseConv2D", depthwise_conv<2>},
      {"SeparableConv1D", separable_conv<1>},
      {"SeparableConv2D", separable_conv<2>},
      {"SeparableConvolution1D", separable_conv<1>},
      {"SeparableConvolution2D", separable_conv<2>},
      {"Conv1DTranspose", conv_transpose<1>},
      {"Conv2DTranspose", conv_transpose<2>},
      {"Conv3DTranspose", conv_transpose<3>},
      {"Convolution2DTranspose", conv_transpose<2>},
      {"Convolution3DTranspose", conv_transpose<3>},
  };
  return rows;
}

}  // namespace latpred::readers::keras
