#include <algorithm>

#include "latpred/text.h"
#include "shapes/fold.h"
#include "shapes/rules.h"
#include "shapes/split.h"

namespace latpred::shapes {

std::vector<std::int64_t> split_sizes(const RuleContext& context, std::int64_t axis_size, std::size_t num_outputs) {
  auto sizes = context.parameter("split", 1);
  if (sizes) {
    std::int64_t sum = 0;
    for (const std::int64_t size : *sizes) {
      if (size < 0 || __builtin_add_overflow(sum, size, &sum)) {
        context.fail(concat("its parts ", shape_text(*sizes), " are no sizes"));
      }
    }
    if (sum != axis_size) {
      context.fail(concat("its parts ", shape_text(*sizes), " do not add up to ", axis_size));
    }
    if (sizes->size() != num_outputs) {
      context.fail(concat("it has ", num_outputs, " outputs for parts ", shape_text(*sizes)));
    }
    return *sizes;
  }
  // Equal parts, a smaller last one where the size does not divide.
  const auto count = static_cast<std::int64_t>(num_outputs);
  const std::int64_t part = (axis_size + count - 1) / count;
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < count; ++i) {
    result.push_back(std::max<std::int64_t>(0, std::min(part, axis_size - i * part)));
  }
  return result;
}

Shape joined(const RuleContext& context, const std::vector<Shape>& shapes, std::int64_t axis) {
  if (shapes.empty()) context.fail("has no inputs");
  Shape result = shapes.front();
  const auto at = static_cast<std::size_t>(context.normalized_axis(axis, static_cast<std::int64_t>(result.size())));
  for (std::size_t k = 1; k < shapes.size(); ++k) {
    const Shape& shape = shapes[k];
    bool fits = shape.size() == result.size();
    for (std::size_t i = 0; fits && i < shape.size(); ++i) fits = i == at || shape[i] == result[i];
    if (!fits || __builtin_add_overflow(result[at], shape[at], &result[at])) {
      context.fail(
          concat("cannot join ", shape_text(shapes.front()), " and ", shape_text(shape), " along axis ", axis));
    }
  }
  return result;
}

namespace {

void concat_rule(RuleContext& context) {
  std::vector<Shape> shapes;
  bool is_known = true;
  for (std::size_t k = 0; k < context.num_inputs(); ++k) {
    if (!context.has_input(k)) continue;
    shapes.push_back(context.shape(k));
    is_known = is_known && context.value(k) != nullptr;
  }
  const std::int64_t axis = context.attributes().integer("axis", 1);
  const Shape result = joined(context, shapes, axis);
  context.set_output(0, context.dtype(0), result);
  if (!is_known || element_count(result) > kMaxFoldedElements) return;
  const auto at = static_cast<std::size_t>(context.normalized_axis(axis, static_cast<std::int64_t>(result.size())));
  Value value;
  for (std::int64_t i = 0; i < element_count(result); ++i) {
    auto where = coordinates(i, result);
    std::size_t k = 0;
    while (!context.has_input(k) || where[at] >= context.shape(k)[at]) {
      if (context.has_input(k)) where[at] -= context.shape(k)[at];
      ++k;
    }
    const std::int64_t from = position(where, context.shape(k));
    if (is_real(context.dtype(0))) {
      value.reals.push_back(real_at(*context.value(k), from));
    } else {
      value.integers.push_back(integer_at(*context.value(k), from));
    }
  }
  context.set_value(0, std::move(value));
}

void split(RuleContext& context) {
  const Shape& input = context.shape(0);
  const auto axis =
      static_cast<std::size_t>(context.normalized_axis(context.attributes().integer("axis", 0), context.rank(0)));
  if (context.num_outputs() == 0) context.fail("has no outputs");
  const auto sizes = split_sizes(context, input[axis], context.num_outputs());
  std::int64_t start = 0;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    Shape part = input;
    part[axis] = sizes[k];
    context.set_output(k, context.dtype(0), part);
    fold_pick(context, 0, k, [&](std::int64_t i) {
      auto where = coordinates(i, part);
      where[axis] += start;
      return position(where, input);
    });
    start += sizes[k];
  }
}

const std::vector<RuleRow> kConcatRules{
    {OperatorId::concat, concat_rule},
    {OperatorId::split, split},
};

}  // namespace

const std::vector<RuleRow>& concat_rules() { return kConcatRules; }

}  // namespace latpred::shapes
