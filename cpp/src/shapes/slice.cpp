#include <algorithm>
#include <limits>

#include "latpred/text.h"
#include "shapes/fold.h"
#include "shapes/rescale.h"
#include "shapes/rules.h"

namespace latpred::shapes {
namespace {

struct Range {
  std::int64_t start = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};

// NumPy's slice of `size` elements: ends count from the back where negative, and are cut off at both borders.
Range sliced(std::int64_t size, std::int64_t start, std::int64_t end, std::int64_t step) {
  const auto bounded = [size](std::int64_t at, std::int64_t low, std::int64_t high) {
    return std::clamp(at < 0 ? at + size : at, low, high);
  };
  if (step > 0) {
    start = bounded(start, 0, size);
    end = bounded(end, 0, size);
    return {start, step, end > start ? (end - start - 1) / step + 1 : 0};
  }
  start = bounded(start, -1, size - 1);
  end = bounded(end, -1, size - 1);
  constexpr std::int64_t kLongest = std::numeric_limits<std::int64_t>::max();
  const std::int64_t stride = step < -kLongest ? kLongest : -step;
  return {start, step, start > end ? (start - end - 1) / stride + 1 : 0};
}

void slice(RuleContext& context) {
  const Shape& input = context.shape(0);
  const auto starts = context.parameter("starts", 1);
  const auto ends = context.parameter("ends", 2);
  const auto axes = context.parameter("axes", 3);
  const auto steps = context.parameter("steps", 4);
  if (!starts || !ends) context.fail("its starts or ends are missing");
  const std::size_t count = starts->size();
  if (ends->size() != count || (axes && axes->size() != count) || (steps && steps->size() != count) ||
      count > input.size()) {
    context.fail(
        concat("its starts ", shape_text(*starts), ", ends ", shape_text(*ends), " do not fit ", shape_text(input)));
  }
  std::vector<Range> ranges(input.size());
  for (std::size_t i = 0; i < input.size(); ++i) ranges[i].count = input[i];
  Shape result = input;
  for (std::size_t k = 0; k < count; ++k) {
    const auto axis = static_cast<std::size_t>(
        context.normalized_axis(axes ? (*axes)[k] : static_cast<std::int64_t>(k), context.rank(0)));
    const std::int64_t step = steps ? (*steps)[k] : 1;
    if (step == 0) context.fail("its step is 0");
    ranges[axis] = sliced(input[axis], (*starts)[k], (*ends)[k], step);
    result[axis] = ranges[axis].count;
  }
  context.set_output(0, context.dtype(0), result);
  fold_pick(context, 0, 0, [&](std::int64_t i) {
    auto at = coordinates(i, result);
    for (std::size_t axis = 0; axis < at.size(); ++axis) at[axis] = ranges[axis].start + at[axis] * ranges[axis].step;
    return position(at, input);
  });
}

// x[.., index, ..]: the axis vanishes.
void select(RuleContext& context) {
  const Shape& input = context.shape(0);
  const auto axis =
      static_cast<std::size_t>(context.normalized_axis(context.attributes().integer("axis", 0), context.rank(0)));
  Shape result = input;
  result.erase(result.begin() + static_cast<std::ptrdiff_t>(axis));
  const auto at = context.value(1) == nullptr && !context.attributes().has("index")
                      ? std::nullopt  // which one it is does not change the shape
                      : context.parameter("index", 1);
  context.set_output(0, context.dtype(0), result);
  if (!at) return;
  if (at->size() != 1) context.fail("its index must be one number");
  const std::int64_t size = input[axis];
  if (at->front() < -size || at->front() >= size) {
    context.fail(concat("index ", at->front(), " is outside dimension ", axis, " of ", shape_text(input)));
  }
  const std::int64_t index = at->front() < 0 ? at->front() + size : at->front();
  fold_pick(context, 0, 0, [&](std::int64_t i) {
    auto from = coordinates(i, result);
    from.insert(from.begin() + static_cast<std::ptrdiff_t>(axis), index);
    return position(from, input);
  });
}

// Sizes and strides of a view in elements, as torch.as_strided has them. Of the input's memory only its size is known.
void as_strided(RuleContext& context) {
  const auto size = context.parameter("size", 1);
  const auto stride = context.parameter("stride", 2);
  if (!size || !stride || size->size() != stride->size()) context.fail("needs as many strides as sizes");
  Shape result = *size;
  // Strides bake in every size behind them: only a batch that stands first can change.
  const Shape* saved = context.saved_input_shape(0);
  if (saved != nullptr && *saved != context.shape(0)) {
    Shape grown = *saved;
    if (grown.empty() || result.empty() || grown[0] != result[0]) fail_baked(context);
    grown[0] = result[0] = context.shape(0)[0];
    if (grown != context.shape(0)) fail_baked(context);
  }
  context.set_output(0, context.dtype(0), std::move(result));
}

// torch.Tensor.unfold: windows of `size` along `axis`, every `step` elements; the window is a new last dimension.
void sliding_window(RuleContext& context) {
  Shape result = context.shape(0);
  const auto axis =
      static_cast<std::size_t>(context.normalized_axis(context.attributes().integer("axis", 0), context.rank(0)));
  const std::int64_t size = context.attributes().integer("size", 1);
  const std::int64_t step = context.attributes().integer("step", 1);
  if (size < 0 || size > result[axis] || step < 1) {
    context.fail(concat("windows of ", size, " every ", step, " do not fit into ", shape_text(result)));
  }
  result[axis] = (result[axis] - size) / step + 1;
  result.push_back(size);
  context.set_output(0, context.dtype(0), std::move(result));
}

void flip(RuleContext& context) {
  const Shape& input = context.shape(0);
  std::vector<bool> is_flipped(input.size());
  for (const std::int64_t axis : context.parameter("axes", 1).value_or(std::vector<std::int64_t>{})) {
    is_flipped[static_cast<std::size_t>(context.normalized_axis(axis, context.rank(0)))] = true;
  }
  context.set_output(0, context.dtype(0), input);
  fold_pick(context, 0, 0, [&](std::int64_t i) {
    auto at = coordinates(i, input);
    for (std::size_t axis = 0; axis < at.size(); ++axis) {
      if (is_flipped[axis]) at[axis] = input[axis] - 1 - at[axis];
    }
    return position(at, input);
  });
}

const std::vector<RuleRow> kSliceRules{
    {OperatorId::slice, slice},
    {OperatorId::select, select},
    {OperatorId::as_strided, as_strided},
    {OperatorId::sliding_window, sliding_window},
    {OperatorId::flip, flip},
};

}  // namespace

const std::vector<RuleRow>& slice_rules() { return kSliceRules; }

}  // namespace latpred::shapes
