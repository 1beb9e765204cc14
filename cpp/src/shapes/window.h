#pragma once

#include <cstdint>
#include <string_view>

#include "shapes/rule.h"

namespace latpred::shapes {

// The sliding window of a convolution or a pooling operator, one entry for each spatial dimension.
struct Window {
  Shape kernel;
  Shape strides;
  Shape dilations;
  Shape pads_begin;
  Shape pads_end;
};

// Beyond any real window or image: keeps the arithmetic on hostile files from overflowing.
inline constexpr std::int64_t kMaxExtent = std::int64_t{1} << 31;
inline constexpr std::int64_t kMaxWindowSetting = std::int64_t{1} << 30;

// The list attribute `name` with `count` entries from `smallest` to kMaxWindowSetting; all `fallback` where absent.
[[nodiscard]] Shape per_axis(const RuleContext& context, std::string_view name, std::size_t count,
                             std::int64_t fallback, std::int64_t smallest);

// From the attributes; the spatial sizes `input` decide the pads where auto_pad does. Throws ShapeError where a list
// has the wrong length or a size is not positive.
[[nodiscard]] Window window_of(const RuleContext& context, const Shape& kernel, const Shape& input);

// How often the window fits; with `round_up` as ONNX's ceil_mode does: a window may hang over the end, but none starts
// in the padding there.
[[nodiscard]] Shape window_positions(const RuleContext& context, const Window& window, const Shape& input,
                                     bool round_up = false);

// Everything behind batch and channels.
[[nodiscard]] Shape spatial(const Shape& shape);

}  // namespace latpred::shapes
