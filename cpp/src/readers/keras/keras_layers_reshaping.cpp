#include <limits>
#include <utility>

#include "latpred/text.h"
#include "readers/keras/keras_network.h"

namespace latpred::readers::keras {
namespace {

std::size_t first_spatial(const Call& call) { return call.channels_last() ? 1 : 2; }

// 0 copies the batch.
Variables reshape(Call& call) {
  Shape target{0};
  for (const std::int64_t size : call.integers(call.config().at("target_shape"))) target.push_back(size);
  return {call.reshape(call.input(), target, "")};
}

// The order of the elements is that of channels last.
Variables flatten(Call& call) {
  VariableId x = call.input();
  const std::size_t rank = call.rank(x);
  if (!call.channels_last() && rank > 2) {
    Shape order{0};
    for (std::size_t i = 2; i < rank; ++i) order.push_back(static_cast<std::int64_t>(i));
    order.push_back(1);
    x = call.transpose(x, order);
  }
  return {call.make(OperatorId::flatten, {x}, {{"axis", std::int64_t{1}}})};
}

Variables permute(Call& call) {
  Shape order{0};
  for (const std::int64_t axis : call.integers(call.config().at("dims"))) order.push_back(axis);
  return {call.transpose(call.input(), order, "")};
}

Variables repeat_vector(Call& call) {
  const VariableId row = call.make(OperatorId::unsqueeze, {call.input()}, {{"axes", Shape{1}}}, "unsqueeze");
  return {call.make(OperatorId::tile, {row}, {{"repeats", Shape{1, call.size("n"), 1}}})};
}

// Before and after each spatial dimension: one number, one for each, or a pair for each.
std::pair<Shape, Shape> margins_of(const Call& call, std::string_view key, std::size_t count) {
  const Json& json = call.config().at(key);
  Shape before(count, 0);
  Shape after(count, 0);
  const auto checked = [&](const Json& value) {
    const std::int64_t size = value.integer();
    if (size < 0 || size > kMaxSetting) call.fail(concat("'", key, "' must be from 0 to 2^31, found ", size));
    return size;
  };
  if (!json.is_array()) {
    before.assign(count, checked(json));
    return {before, before};
  }
  const Json::Array& items = json.array();
  // In one dimension the pair stands alone.
  if (count == 1 && items.size() == 2 && items[0].is_integer()) return {{checked(items[0])}, {checked(items[1])}};
  if (items.size() != count) call.fail(concat("'", key, "' has ", items.size(), " entries, expected ", count));
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_pair = items[i].is_array();
    if (is_pair && items[i].array().size() != 2) call.fail(concat("'", key, "' must have pairs"));
    before[i] = checked(is_pair ? items[i].array()[0] : items[i]);
    after[i] = checked(is_pair ? items[i].array()[1] : items[i]);
  }
  return {before, after};
}

template <std::size_t kCount>
Variables zero_padding(Call& call) {
  const VariableId x = call.input();
  call.check_image(x, kCount);
  const auto [before, after] = margins_of(call, "padding", kCount);
  Shape pads(2 * (kCount + 2), 0);
  for (std::size_t i = 0; i < kCount; ++i) {
    pads[first_spatial(call) + i] = before[i];
    pads[kCount + 2 + first_spatial(call) + i] = after[i];
  }
  return {call.make(OperatorId::pad, {x}, {{"pads", pads}})};
}

template <std::size_t kCount>
Variables cropping(Call& call) {
  const VariableId x = call.input();
  call.check_image(x, kCount);
  const auto [before, after] = margins_of(call, "cropping", kCount);
  Shape ends;
  Shape axes;
  for (std::size_t i = 0; i < kCount; ++i) {
    ends.push_back(after[i] == 0 ? std::numeric_limits<std::int64_t>::max() : -after[i]);
    axes.push_back(static_cast<std::int64_t>(first_spatial(call) + i));
  }
  return {call.make(OperatorId::slice, {x}, {{"starts", before}, {"ends", ends}, {"axes", axes}})};
}

std::string resize_mode(const Call& call, std::string_view fallback) {
  struct Row {
    std::string_view interpolation;
    const char* mode;
  };
  constexpr Row kRows[] = {{"nearest", "nearest"}, {"bilinear", "linear"}, {"bicubic", "cubic"}, {"lanczos3", "cubic"},
                           {"lanczos5", "cubic"},  {"area", "linear"},     {"linear", "linear"}};
  const std::string name = call.text("interpolation", fallback);
  std::vector<std::string> valid;
  for (const Row& row : kRows) {
    if (row.interpolation == name) return row.mode;
    valid.emplace_back(row.interpolation);
  }
  call.unknown_setting("interpolation", name, valid);
}

Shape spatial_axes(const Call& call, std::size_t count) {
  Shape axes;
  for (std::size_t i = 0; i < count; ++i) axes.push_back(static_cast<std::int64_t>(first_spatial(call) + i));
  return axes;
}

template <std::size_t kCount>
Variables upsampling(Call& call) {
  const VariableId x = call.input();
  call.check_image(x, kCount);
  const Shape factors = call.sizes("size", kCount, 2);
  return {call.make(OperatorId::resize, {x},
                    {{"scales", std::vector<double>(factors.begin(), factors.end())},
                     {"axes", spatial_axes(call, kCount)},
                     {"mode", resize_mode(call, "nearest")},
                     {"channels_last", std::int64_t{call.channels_last()}}})};
}

Variables resizing(Call& call) {
  for (const char* key : {"crop_to_aspect_ratio", "pad_to_aspect_ratio"}) {
    if (call.flag(key, false)) call.unsupported(concat("'", key, "' is not read"));
  }
  const VariableId x = call.input();
  call.check_image(x, 2);
  return {call.make(OperatorId::resize, {x},
                    {{"sizes", Shape{call.size("height"), call.size("width")}},
                     {"axes", spatial_axes(call, 2)},
                     {"mode", resize_mode(call, "bilinear")},
                     {"channels_last", std::int64_t{call.channels_last()}}})};
}

Variables center_crop(Call& call) {
  const VariableId x = call.input();
  call.check_image(x, 2);
  return {call.make(OperatorId::center_crop_pad, {x},
                    {{"shape", Shape{call.size("height"), call.size("width")}}, {"axes", spatial_axes(call, 2)}})};
}

}  // namespace

const std::vector<LayerRow>& reshaping_layers() {
  static const std::vector<LayerRow> rows{
      {"Reshape", reshape},
      {"Flatten", flatten},
      {"Permute", permute},
      {"RepeatVector", repeat_vector},
      {"ZeroPadding1D", zero_padding<1>},
      {"ZeroPadding2D", zero_padding<2>},
      {"ZeroPadding3D", zero_padding<3>},
      {"Cropping1D", cropping<1>},
      {"Cropping2D", cropping<2>},
      {"Cropping3D", cropping<3>},
      {"UpSampling1D", upsampling<1>},
      {"UpSampling2D", upsampling<2>},
      {"UpSampling3D", upsampling<3>},
      {"Resizing", resizing},
      {"CenterCrop", center_crop},
  };
  return rows;
}

}  // namespace latpred::readers::keras
