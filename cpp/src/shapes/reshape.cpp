#include <algorithm>
#include <numeric>

#include "latpred/text.h"
#include "operators/layout.h"
#include "shapes/broadcast.h"
#include "shapes/fold.h"
#include "shapes/rescale.h"
#include "shapes/rules.h"

namespace latpred::shapes {
namespace {

using Sizes = std::vector<std::int64_t>;

// The shape that `target` means for this input; nothing where the element counts disagree.
std::optional<Shape> reshaped(RuleContext& context, const Shape& input, const Sizes& target) {
  const bool allows_zero = context.attributes().integer("allowzero", 0) != 0;
  Shape result = target;
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i] == -1) {
      if (open) context.fail(concat("its target ", shape_text(target), " has more than one -1"));
      open = i;
      result[i] = 1;
    } else if (target[i] == 0 && !allows_zero) {
      if (i >= input.size()) {
        context.fail(concat("its target ", shape_text(target), " copies dimension ", i, " of ", shape_text(input)));
      }
      result[i] = input[i];
    } else if (target[i] < 0) {
      context.fail(concat("its target ", shape_text(target), " has a negative size"));
    }
  }
  const std::int64_t count = element_count(input);
  const std::int64_t given = element_count(result);
  if (open) {
    if (given == 0 ? count != 0 : count % given != 0) return std::nullopt;
    result[*open] = given == 0 ? 0 : count / given;
  } else if (given != count) {
    return std::nullopt;
  }
  return result;
}

void reshape(RuleContext& context) {
  const auto target = context.parameter("shape", 1);
  if (!target) context.fail("its target shape is missing");
  const Shape& input = context.shape(0);
  std::optional<Shape> result = reshaped(context, input, *target);
  if (const auto rescaled = rescaled_reshape(context, result)) result = rescaled;
  if (!result) {
    if (context.rebatch() != nullptr && context.rebatch()->is_static) fail_baked(context);
    context.fail(concat("cannot reshape ", shape_text(input), " (", element_count(input), " elements) to ",
                        shape_text(*target)));
  }
  context.set_output(0, context.dtype(0), *result);
  fold_copy(context, 0);
}

void flatten(RuleContext& context) {
  const Shape& input = context.shape(0);
  std::int64_t axis = context.attributes().integer("axis", 1);
  const auto rank = static_cast<std::int64_t>(input.size());
  if (axis < -rank || axis > rank) context.fail(concat("axis ", axis, " is outside ", shape_text(input)));
  if (axis < 0) axis += rank;
  const auto middle = input.begin() + axis;
  context.set_output(0, context.dtype(0),
                     {element_count(Shape(input.begin(), middle)), element_count(Shape(middle, input.end()))});
  fold_copy(context, 0);
}

void squeeze(RuleContext& context) {
  const Shape& input = context.shape(0);
  const auto axes = context.parameter("axes", 1);
  std::vector<bool> drop(input.size());
  if (axes) {
    for (const std::int64_t axis : *axes) {
      const auto i = static_cast<std::size_t>(context.normalized_axis(axis, context.rank(0)));
      if (input[i] != 1) context.fail(concat("cannot squeeze dimension ", i, " of ", shape_text(input)));
      drop[i] = true;
    }
  } else {
    for (std::size_t i = 0; i < input.size(); ++i) drop[i] = input[i] == 1;
  }
  Shape result;
  for (std::size_t i = 0; i < input.size(); ++i) {
    if (!drop[i]) result.push_back(input[i]);
  }
  context.set_output(0, context.dtype(0), std::move(result));
  fold_copy(context, 0);
}

void unsqueeze(RuleContext& context) {
  const auto axes = context.parameter("axes", 1);
  if (!axes) context.fail("its axes are missing");
  const Shape& input = context.shape(0);
  const std::size_t rank = input.size() + axes->size();
  if (rank > kMaxRank) context.fail(concat("its result would have ", rank, " dimensions"));
  std::vector<bool> is_new(rank);
  for (const std::int64_t axis : *axes) {
    const auto i = static_cast<std::size_t>(context.normalized_axis(axis, static_cast<std::int64_t>(rank)));
    if (is_new[i]) context.fail(concat("its axes name dimension ", i, " twice"));
    is_new[i] = true;
  }
  Shape result;
  auto next = input.begin();
  for (std::size_t i = 0; i < rank; ++i) result.push_back(is_new[i] ? 1 : *next++);
  context.set_output(0, context.dtype(0), std::move(result));
  fold_copy(context, 0);
}

void expand(RuleContext& context) {
  const auto target = context.parameter("shape", 1);
  if (!target) context.fail("its target shape is missing");
  const Shape& input = context.shape(0);
  for (const std::int64_t size : *target) {
    if (size < -1) context.fail(concat("its target ", shape_text(*target), " has a negative size"));
  }
  Shape wanted = *target;
  for (std::int64_t& size : wanted) {
    if (size == -1) size = 1;  // aten's "keep"
  }
  const Shape rescaled = rescaled_expand(context, wanted);
  context.set_output(0, context.dtype(0), broadcast(input, rescaled));
  const Shape result = context.outputs()[0].has_shape ? context.outputs()[0].shape : Shape{};
  fold_pick(context, 0, 0, [&](std::int64_t i) { return broadcast_source(i, result, input); });
}

void transpose(RuleContext& context) {
  const Shape& input = context.shape(0);
  Sizes order = context.attributes().integers("perm");
  if (order.empty()) {
    order.resize(input.size());
    std::iota(order.rbegin(), order.rend(), 0);
  }
  if (order.size() != input.size()) {
    context.fail(concat("its order ", shape_text(order), " does not fit ", shape_text(input)));
  }
  std::vector<bool> seen(input.size());
  Shape result;
  for (std::int64_t& axis : order) {
    axis = context.normalized_axis(axis, context.rank(0));
    if (seen[static_cast<std::size_t>(axis)]) context.fail(concat("its order ", shape_text(order), " repeats an axis"));
    seen[static_cast<std::size_t>(axis)] = true;
    result.push_back(input[static_cast<std::size_t>(axis)]);
  }
  context.set_output(0, context.dtype(0), result);
  fold_pick(context, 0, 0, [&](std::int64_t i) {
    const auto to = coordinates(i, result);
    Sizes from(order.size());
    for (std::size_t k = 0; k < order.size(); ++k) from[static_cast<std::size_t>(order[k])] = to[k];
    return position(from, input);
  });
}

std::int64_t block_size(const RuleContext& context) {
  const std::int64_t size = context.attributes().integer("blocksize", 0);
  if (size < 1 || size > (1 << 20)) context.fail(concat("its block size must be >= 1, got ", size));
  if (context.rank(0) != 4) context.fail(concat("takes [N, C, H, W], got ", shape_text(context.shape(0))));
  return size;
}

void depth_to_space(RuleContext& context) {
  const std::int64_t block = block_size(context);
  const Shape x = channels_first(context.attributes(), context.shape(0));
  if (x[1] % (block * block) != 0) context.fail(concat(x[1], " channels do not divide by ", block, " squared"));
  const Shape result{x[0], x[1] / (block * block), x[2] * block, x[3] * block};
  context.set_output(0, context.dtype(0), in_file_order(context.attributes(), result));
}

void space_to_depth(RuleContext& context) {
  const std::int64_t block = block_size(context);
  const Shape x = channels_first(context.attributes(), context.shape(0));
  if (x[2] % block != 0 || x[3] % block != 0) {
    context.fail(concat(shape_text(x), " does not divide into blocks of ", block));
  }
  const Shape result{x[0], x[1] * block * block, x[2] / block, x[3] / block};
  context.set_output(0, context.dtype(0), in_file_order(context.attributes(), result));
}

std::int64_t product(const RuleContext& context, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) context.fail(concat(a, " x ", b, " is more than 2^63"));
  return result;
}

void tile(RuleContext& context) {
  const Shape& input = context.shape(0);
  const auto repeats = context.parameter("repeats", 1);
  if (!repeats) context.fail("its repeats are missing");
  Shape extended = input;  // aten's repeat may add leading dimensions
  while (extended.size() < repeats->size()) extended.insert(extended.begin(), 1);
  if (repeats->size() != extended.size()) {
    context.fail(concat("its repeats ", shape_text(*repeats), " do not fit ", shape_text(input)));
  }
  Shape result;
  for (std::size_t i = 0; i < extended.size(); ++i) result.push_back(product(context, extended[i], (*repeats)[i]));
  context.set_output(0, context.dtype(0), result);
  fold_pick(context, 0, 0, [&](std::int64_t i) {
    auto at = coordinates(i, result);
    for (std::size_t k = 0; k < at.size(); ++k) at[k] %= extended[k];
    return position(at, extended);
  });
}

void pad(RuleContext& context) {
  const Shape& input = context.shape(0);
  auto pads = context.parameter("pads", 1);
  if (!pads && context.attributes().has("paddings")) pads = context.attributes().integers("paddings");
  if (!pads) context.fail("its pads are missing");
  const auto axes = context.parameter("axes", 3);
  const std::size_t num_axes = axes ? axes->size() : input.size();
  if (pads->size() != 2 * num_axes) {
    context.fail(concat("its pads ", shape_text(*pads), " do not fit ", num_axes, " axes of ", shape_text(input)));
  }
  Shape result = input;
  for (std::size_t k = 0; k < num_axes; ++k) {
    const auto axis = axes ? context.normalized_axis((*axes)[k], context.rank(0)) : static_cast<std::int64_t>(k);
    std::int64_t& size = result[static_cast<std::size_t>(axis)];
    if (__builtin_add_overflow(size, (*pads)[k], &size) || __builtin_add_overflow(size, (*pads)[k + num_axes], &size)) {
      context.fail(concat("its pads ", shape_text(*pads), " are too large"));
    }
  }
  context.set_output(0, context.dtype(0), std::move(result));
}

void center_crop_pad(RuleContext& context) {
  Shape result = context.shape(0);
  const auto target = context.parameter("shape", 1);
  if (!target) context.fail("its target shape is missing");
  Sizes axes = context.attributes().integers("axes");
  if (axes.empty()) {
    axes.resize(result.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (axes.size() != target->size()) {
    context.fail(concat("its target ", shape_text(*target), " does not fit ", axes.size(), " axes"));
  }
  for (std::size_t k = 0; k < axes.size(); ++k) {
    result[static_cast<std::size_t>(context.normalized_axis(axes[k], context.rank(0)))] = (*target)[k];
  }
  context.set_output(0, context.dtype(0), std::move(result));
}

// TensorFlow's SpaceToBatchND and its inverse. `block_shape` [M] cuts the dimensions 1 .. M, `paddings` or `crops`
// [M, 2] stand before and behind each.
struct Blocks {
  Sizes sizes;
  Sizes borders;
};

Blocks blocks_of(const RuleContext& context, std::string_view borders) {
  const auto sizes = context.parameter("block_shape", 1);
  const auto around = context.parameter(borders, 2);
  if (!sizes || !around || around->size() != 2 * sizes->size() || sizes->size() + 1 > context.shape(0).size()) {
    context.fail(concat("'block_shape' and '", borders, "' do not fit ", shape_text(context.shape(0))));
  }
  for (const std::int64_t size : *sizes) {
    if (size < 1) context.fail(concat("its blocks ", shape_text(*sizes), " must be at least 1"));
  }
  return {*sizes, *around};
}

void space_to_batch(RuleContext& context) {
  const auto [sizes, paddings] = blocks_of(context, "paddings");
  Shape result = context.shape(0);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::int64_t& size = result[i + 1];
    if (__builtin_add_overflow(size, paddings[2 * i], &size) ||
        __builtin_add_overflow(size, paddings[2 * i + 1], &size)) {
      context.fail(concat("its paddings ", shape_text(paddings), " are too large"));
    }
    if (size % sizes[i] != 0) {
      context.fail(concat(size, " elements along dimension ", i + 1, " do not divide into blocks of ", sizes[i]));
    }
    size /= sizes[i];
    result[0] = product(context, result[0], sizes[i]);
  }
  context.set_output(0, context.dtype(0), std::move(result));
}

void batch_to_space(RuleContext& context) {
  const auto [sizes, crops] = blocks_of(context, "crops");
  Shape result = context.shape(0);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (result[0] % sizes[i] != 0) {
      context.fail(concat("a batch of ", context.shape(0)[0], " does not divide into blocks of ", shape_text(sizes)));
    }
    result[0] /= sizes[i];
    std::int64_t& size = result[i + 1];
    size = product(context, size, sizes[i]);
    if (__builtin_sub_overflow(size, crops[2 * i], &size) || __builtin_sub_overflow(size, crops[2 * i + 1], &size)) {
      context.fail(concat("its crops ", shape_text(crops), " are too large"));
    }
  }
  context.set_output(0, context.dtype(0), std::move(result));
}

void same_shape(RuleContext& context) { context.set_output(0, context.dtype(0), context.shape(0)); }

const std::vector<RuleRow> kReshapeRules{
    {OperatorId::reshape, reshape},
    {OperatorId::flatten, flatten},
    {OperatorId::squeeze, squeeze},
    {OperatorId::unsqueeze, unsqueeze},
    {OperatorId::expand, expand},
    {OperatorId::transpose, transpose},
    {OperatorId::depth_to_space, depth_to_space},
    {OperatorId::space_to_depth, space_to_depth},
    {OperatorId::tile, tile},
    {OperatorId::pad, pad},
    {OperatorId::center_crop_pad, center_crop_pad},
    {OperatorId::trilu, same_shape},
    {OperatorId::reverse_sequence, same_shape},
    {OperatorId::roll, same_shape},
    {OperatorId::space_to_batch, space_to_batch},
    {OperatorId::batch_to_space, batch_to_space},
};

}  // namespace

const std::vector<RuleRow>& reshape_rules() { return kReshapeRules; }

}  // namespace latpred::shapes
