#include <utility>

#include "readers/keras/keras_network.h"

namespace latpred::readers::keras {
namespace {

Settings layout_of(const Call& call) { return {{"channels_last", std::int64_t{call.channels_last()}}}; }

template <OperatorId kOp, std::size_t kCount>
Variables pool(Call& call) {
  const VariableId x = call.input();
  call.check_image(x, kCount);
  const Shape window = call.sizes("pool_size", kCount, 2);
  Settings settings = layout_of(call);
  settings.emplace_back("kernel_shape", window);
  settings.emplace_back("strides", call.has("strides") ? call.sizes("strides", kCount, 1) : window);
  const std::string padding = call.text("padding", "valid");
  if (padding == "same") {
    settings.emplace_back("auto_pad", "SAME_UPPER");
  } else if (padding != "valid") {
    call.unknown_setting("padding", padding, {"valid", "same"});
  }
  return {call.make(kOp, {x}, std::move(settings))};
}

template <OperatorId kOp, std::size_t kCount>
Variables global_pool(Call& call) {
  const VariableId x = call.input();
  call.check_image(x, kCount);
  const VariableId y = call.make(kOp, {x}, layout_of(call));
  if (call.flag("keepdims", false)) return {y};
  Shape axes;
  for (std::size_t i = 0; i < kCount; ++i)
    axes.push_back(static_cast<std::int64_t>(i) + (call.channels_last() ? 1 : 2));
  return {call.make(OperatorId::squeeze, {y}, {{"axes", axes}}, "squeeze")};
}

template <OperatorId kOp, std::size_t kCount>
Variables adaptive_pool(Call& call) {
  const VariableId x = call.input();
  call.check_image(x, kCount);
  Settings settings = layout_of(call);
  settings.emplace_back("output_size", call.sizes("output_size", kCount, 1));
  return {call.make(kOp, {x}, std::move(settings))};
}

}  // namespace

const std::vector<LayerRow>& pooling_layers() {
  using enum OperatorId;
  static const std::vector<LayerRow> rows{
      {"MaxPooling1D", pool<max_pool, 1>},
      {"MaxPooling2D", pool<max_pool, 2>},
      {"MaxPooling3D", pool<max_pool, 3>},
      {"MaxPool1D", pool<max_pool, 1>},
      {"MaxPool2D", pool<max_pool, 2>},
      {"MaxPool3D", pool<max_pool, 3>},
      {"AveragePooling1D", pool<average_pool, 1>},
      {"AveragePooling2D", pool<average_pool, 2>},
      {"AveragePooling3D", pool<average_pool, 3>},
      {"AvgPool1D", pool<average_pool, 1>},
      {"AvgPool2D", pool<average_pool, 2>},
      {"AvgPool3D", pool<average_pool, 3>},
      {"GlobalAveragePooling1D", global_pool<global_average_pool, 1>},
      {"GlobalAveragePooling2D", global_pool<global_average_pool, 2>},
      {"GlobalAveragePooling3D", global_pool<global_average_pool, 3>},
      {"GlobalAvgPool1D", global_pool<global_average_pool, 1>},
      {"GlobalAvgPool2D", global_pool<global_average_pool, 2>},
      {"GlobalAvgPool3D", global_pool<global_average_pool, 3>},
      {"GlobalMaxPooling1D", global_pool<global_max_pool, 1>},
      {"GlobalMaxPooling2D", global_pool<global_max_pool, 2>},
      {"GlobalMaxPooling3D", global_pool<global_max_pool, 3>},
      {"GlobalMaxPool1D", global_pool<global_max_pool, 1>},
      {"GlobalMaxPool2D", global_pool<global_max_pool, 2>},
      {"GlobalMaxPool3D", global_pool<global_max_pool, 3>},
      {"AdaptiveAveragePooling1D", adaptive_pool<adaptive_average_pool, 1>},
      {"AdaptiveAveragePooling2D", adaptive_pool<adaptive_average_pool, 2>},
      {"AdaptiveAveragePooling3D", adaptive_pool<adaptive_average_pool, 3>},
      {"AdaptiveMaxPooling1D", adaptive_pool<adaptive_max_pool, 1>},
      {"AdaptiveMaxPooling2D", adaptive_pool<adaptive_max_pool, 2>},
      {"AdaptiveMaxPooling3D", adaptive_pool<adaptive_max_pool, 3>},
  };
  return rows;
}

}  // namespace latpred::readers::keras
