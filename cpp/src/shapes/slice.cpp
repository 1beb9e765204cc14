#include <algorithm>
#include <limits>

#include "latpred/text.h"
#include "shapes/fold.h"
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

const std::vector<RuleRow> kRules{
    {OperatorId::slice, slice},
};

}  // namespace

const std::vector<RuleRow>& slice_rules() { return kRules; }

}  // namespace latpred::shapes
