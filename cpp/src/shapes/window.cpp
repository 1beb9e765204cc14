#include "shapes/window.h"

#include <algorithm>
#include <string>

#include "latpred/text.h"

namespace latpred::shapes {
namespace {

std::int64_t ceil_divided(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

Shape per_axis(const RuleContext& context, std::string_view name, std::size_t count, std::int64_t fallback,
               std::int64_t smallest) {
  Shape sizes = context.attributes().integers(name);
  if (sizes.empty()) sizes.assign(count, fallback);
  if (sizes.size() != count) {
    context.fail(concat("'", name, "' ", shape_text(sizes), " must have ", count, " entries"));
  }
  for (const std::int64_t size : sizes) {
    if (size < smallest) context.fail(concat("'", name, "' ", shape_text(sizes), " must be at least ", smallest));
    if (size > kMaxWindowSetting) context.fail(concat("'", name, "' ", shape_text(sizes), " is too large"));
  }
  return sizes;
}

Shape spatial(const Shape& shape) { return {shape.begin() + 2, shape.end()}; }

Window window_of(const RuleContext& context, const Shape& kernel, const Shape& input) {
  const std::size_t count = input.size();
  if (kernel.size() != count) {
    context.fail(concat("the window ", shape_text(kernel), " must have ", count, " dimensions as the input's ",
                        shape_text(input), " has"));
  }
  Window window{.kernel = kernel,
                .strides = per_axis(context, "strides", count, 1, 1),
                .dilations = per_axis(context, "dilations", count, 1, 1)};
  for (const std::int64_t size : kernel) {
    if (size < 1) context.fail(concat("the window ", shape_text(kernel), " must be at least 1"));
    if (size > kMaxWindowSetting) context.fail(concat("the window ", shape_text(kernel), " is too large"));
  }
  for (const std::int64_t size : input) {
    if (size < 0 || size > kMaxExtent) context.fail(concat("no window slides over ", shape_text(input)));
  }
  const std::string auto_pad = context.attributes().text("auto_pad", "NOTSET");
  if (auto_pad == "NOTSET" || auto_pad.empty()) {
    Shape pads = context.attributes().integers("pads");
    if (pads.empty()) pads.assign(2 * count, 0);
    if (pads.size() != 2 * count) {
      context.fail(concat("'pads' ", shape_text(pads), " must have ", 2 * count, " entries"));
    }
    for (const std::int64_t pad : pads) {
      if (pad < -kMaxWindowSetting || pad > kMaxWindowSetting) {
        context.fail(concat("'pads' ", shape_text(pads), " are too large"));
      }
    }
    const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(count);
    window.pads_begin.assign(pads.begin(), middle);
    window.pads_end.assign(middle, pads.end());
    return window;
  }
  window.pads_begin.assign(count, 0);
  window.pads_end.assign(count, 0);
  if (auto_pad == "VALID") return window;
  if (auto_pad != "SAME_UPPER" && auto_pad != "SAME_LOWER") {
    context.fail(concat("auto_pad '", auto_pad, "' is none of NOTSET, SAME_UPPER, SAME_LOWER, VALID"));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t positions = ceil_divided(input[i], window.strides[i]);
    const std::int64_t span = (kernel[i] - 1) * window.dilations[i] + 1;
    const std::int64_t total = std::max<std::int64_t>(0, (positions - 1) * window.strides[i] + span - input[i]);
    window.pads_begin[i] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
    window.pads_end[i] = total - window.pads_begin[i];
  }
  return window;
}

Shape window_positions(const RuleContext& context, const Window& window, const Shape& input, bool round_up) {
  Shape result;
  for (std::size_t i = 0; i < input.size(); ++i) {
    const std::int64_t span = (window.kernel[i] - 1) * window.dilations[i] + 1;
    const std::int64_t padded = input[i] + window.pads_begin[i] + window.pads_end[i];
    if (padded < span) {
      context.fail(concat("the window spans ", span, " elements along spatial dimension ", i, ", which has ", padded,
                          " with its padding (input ", shape_text(input), ")"));
    }
    const std::int64_t room = padded - span;
    const std::int64_t stride = window.strides[i];
    std::int64_t positions = (round_up ? ceil_divided(room, stride) : room / stride) + 1;
    if (round_up && (positions - 1) * stride >= input[i] + window.pads_begin[i]) --positions;
    result.push_back(positions);
  }
  return result;
}

}  // namespace latpred::shapes
