#include "latpred/text.h"
#include "operators/layout.h"
#include "shapes/rules.h"
#include "shapes/window.h"

namespace latpred::shapes {
namespace {

// [batch, channels, spatial ...]
Shape image(const RuleContext& context) {
  Shape shape = channels_first(context.attributes(), context.shape(0));
  if (shape.size() < 3)
    context.fail(concat("input ", shape_text(shape), " needs batch, channels and a spatial dimension"));
  return shape;
}

Shape pooled(const RuleContext& context, const Shape& x, const Shape& sizes) {
  Shape result{x[0], x[1]};
  result.insert(result.end(), sizes.begin(), sizes.end());
  return in_file_order(context.attributes(), result);
}

void pool(RuleContext& context) {
  const Shape x = image(context);
  const Shape input = spatial(x);
  const Window window = window_of(context, context.attributes().integers("kernel_shape"), input);
  const bool round_up = context.attributes().integer("ceil_mode", 0) != 0;
  const Shape shape = pooled(context, x, window_positions(context, window, input, round_up));
  context.set_output(0, context.dtype(0), shape);
  context.set_output(1, DType::int64, shape);  // where each maximum stood
}

void global_pool(RuleContext& context) {
  const Shape x = image(context);
  context.set_output(0, context.dtype(0), pooled(context, x, Shape(x.size() - 2, 1)));
}

// `output_size` has an entry for each spatial dimension (or one for all); -1 keeps the input's.
void adaptive_pool(RuleContext& context) {
  const Shape x = image(context);
  Shape sizes = context.attributes().integers("output_size");
  if (sizes.size() == 1) sizes.assign(x.size() - 2, sizes[0]);
  if (sizes.size() != x.size() - 2) {
    context.fail(concat("'output_size' ", shape_text(sizes), " must have ", x.size() - 2, " entries"));
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1) sizes[i] = x[i + 2];
  }
  const Shape shape = pooled(context, x, sizes);
  context.set_output(0, context.dtype(0), shape);
  context.set_output(1, DType::int64, shape);
}

// Undoes a max pool; input 2, where there, is the whole output shape.
void max_unpool(RuleContext& context) {
  const Shape& x = context.shape(0);
  if (x != context.shape(1)) {
    context.fail(concat("indices ", shape_text(context.shape(1)), " must have the input's shape, ", shape_text(x)));
  }
  if (const auto wanted = context.parameter("output_shape", 2)) {
    context.set_output(0, context.dtype(0), *wanted);
    return;
  }
  const Shape input = spatial(image(context));
  const Window window = window_of(context, context.attributes().integers("kernel_shape"), input);
  Shape sizes;
  for (std::size_t i = 0; i < input.size(); ++i) {
    sizes.push_back((input[i] - 1) * window.strides[i] + window.kernel[i] - window.pads_begin[i] - window.pads_end[i]);
  }
  context.set_output(0, context.dtype(0), pooled(context, x, sizes));
}

Shape regions(const RuleContext& context, std::int64_t numbers_per_region) {
  const Shape& x = context.shape(0);
  const Shape& rois = context.shape(1);
  if (x.size() != 4 || rois.size() != 2 || rois[1] != numbers_per_region) {
    context.fail(concat("needs an image [batch, channels, height, width] and regions [number, ", numbers_per_region,
                        "], got ", shape_text(x), " and ", shape_text(rois)));
  }
  return {rois[0], x[1]};
}

void max_roi_pool(RuleContext& context) {
  Shape shape = regions(context, 5);
  const Shape sizes = context.attributes().integers("pooled_shape");
  if (sizes.size() != 2) context.fail(concat("'pooled_shape' ", shape_text(sizes), " must be height and width"));
  shape.insert(shape.end(), sizes.begin(), sizes.end());
  context.set_output(0, context.dtype(0), shape);
}

void roi_align(RuleContext& context) {
  Shape shape = regions(context, 4);
  shape.push_back(context.attributes().integer("output_height", 1));
  shape.push_back(context.attributes().integer("output_width", 1));
  context.set_output(0, context.dtype(0), shape);
}

}  // namespace

const std::vector<RuleRow>& pooling_rules() {
  static const std::vector<RuleRow> rows{
      {OperatorId::max_pool, pool},
      {OperatorId::average_pool, pool},
      {OperatorId::lp_pool, pool},
      {OperatorId::qlinear_average_pool, pool},
      {OperatorId::global_average_pool, global_pool},
      {OperatorId::global_max_pool, global_pool},
      {OperatorId::global_lp_pool, global_pool},
      {OperatorId::qlinear_global_average_pool, global_pool},
      {OperatorId::adaptive_average_pool, adaptive_pool},
      {OperatorId::adaptive_max_pool, adaptive_pool},
      {OperatorId::max_unpool, max_unpool},
      {OperatorId::max_roi_pool, max_roi_pool},
      {OperatorId::roi_align, roi_align},
  };
  return rows;
}

}  // namespace latpred::shapes
