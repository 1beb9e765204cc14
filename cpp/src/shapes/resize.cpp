#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "latpred/text.h"
#include "operators/layout.h"
#include "shapes/fold.h"
#include "shapes/rules.h"
#include "shapes/window.h"

namespace latpred::shapes {
namespace {

// The dimensions that `count` scales or sizes speak of: those of attribute `axes`, or all; where the file says which
// one holds the channels, all but that one and the batch, too.
Shape axes_of(const RuleContext& context, std::size_t count) {
  Shape axes = context.attributes().integers("axes");
  if (axes.empty()) {
    axes.resize(context.shape(0).size());
    std::iota(axes.begin(), axes.end(), 0);
    const bool knows_channels = context.attributes().has("channels_last") && axes.size() > 2;
    if (knows_channels && count + 2 == axes.size()) axes = spatial(channels_first(context.attributes(), axes));
  }
  for (std::int64_t& axis : axes) axis = context.normalized_axis(axis, context.rank(0));
  return axes;
}

void check_count(const RuleContext& context, std::string_view what, std::size_t found, std::size_t wanted) {
  if (found != wanted) context.fail(concat("'", what, "' has ", found, " entries, expected ", wanted));
}

std::int64_t rounded(double size) { return to_integer(std::floor(size + 0.5)); }

// A size that was the input's when the file was saved follows the input: a baked-in batch.
std::int64_t followed(const RuleContext& context, std::int64_t axis, std::int64_t size) {
  const Shape* saved = context.saved_input_shape(0);
  return saved != nullptr && saved->at(axis) == size ? context.shape(0)[axis] : size;
}

void resize_to(RuleContext& context, Shape sizes) {
  const Shape axes = axes_of(context, sizes.size());
  check_count(context, "sizes", sizes.size(), axes.size());
  Shape result = context.shape(0);
  for (std::size_t i = 0; i < axes.size(); ++i) sizes[i] = followed(context, axes[i], sizes[i]);
  const std::string policy = context.attributes().text("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch") {
    for (std::size_t i = 0; i < axes.size(); ++i) result[axes[i]] = sizes[i];
  } else if (policy == "not_larger" || policy == "not_smaller") {
    double scale = 0;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const double wanted = static_cast<double>(sizes[i]) / static_cast<double>(result[axes[i]]);
      if (i == 0 || (policy == "not_larger" ? wanted < scale : wanted > scale)) scale = wanted;
    }
    for (const std::int64_t axis : axes) result[axis] = rounded(scale * static_cast<double>(result[axis]));
  } else {
    context.fail(concat("keep_aspect_ratio_policy '", policy, "' is none of stretch, not_larger, not_smaller"));
  }
  context.set_output(0, context.dtype(0), result);
}

void scale_by(RuleContext& context, const std::vector<double>& scales, const std::vector<double>& regions) {
  const Shape axes = axes_of(context, scales.size());
  check_count(context, "scales", scales.size(), axes.size());
  if (!regions.empty()) check_count(context, "roi", regions.size(), 2 * axes.size());
  Shape result = context.shape(0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!(scales[i] > 0)) context.fail(concat("scale ", scales[i], " must be greater than 0"));
    double extent = static_cast<double>(result[axes[i]]);
    if (!regions.empty()) extent *= regions[axes.size() + i] - regions[i];
    // Scales are stored as float32, whose error must not cost an element: 1.2 x 10 is 12.
    const auto exact = static_cast<float>(extent) * static_cast<float>(scales[i]);
    result[axes[i]] = to_integer(std::floor(exact));
  }
  context.set_output(0, context.dtype(0), result);
}

bool is_given(const RuleContext& context, std::size_t index) {
  return context.has_input(index) && element_count(context.shape(index)) > 0;
}

// Inputs x, regions, scales, sizes; empty scales mean that the sizes count.
void resize(RuleContext& context) {
  if (context.attributes().has("sizes") || is_given(context, 3)) {
    resize_to(context, *context.parameter("sizes", 3));
    return;
  }
  if (!context.attributes().has("scales") && !is_given(context, 2)) context.fail("needs scales or sizes");
  std::vector<double> regions;
  if (context.attributes().text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize") {
    regions = context.real_parameter("roi", 1).value_or(regions);
  }
  scale_by(context, *context.real_parameter("scales", 2), regions);
}

// Resize's predecessor.
void upsample(RuleContext& context) {
  const auto scales = context.real_parameter("scales", 1);
  if (!scales) context.fail("needs scales");
  scale_by(context, *scales, {});
}

// x [batch, channels, sizes ...], grid [batch, output sizes ..., dimensions].
void grid_sample(RuleContext& context) {
  const Shape& x = context.shape(0);
  const Shape& grid = context.shape(1);
  if (x.size() < 3 || grid.size() != x.size() || grid.back() != static_cast<std::int64_t>(x.size()) - 2 ||
      grid[0] != x[0]) {
    context.fail(concat("grid ", shape_text(grid), " does not fit input ", shape_text(x),
                        ": expected [batch, output sizes, ", x.size() < 2 ? 0 : x.size() - 2, "]"));
  }
  Shape result{x[0], x[1]};
  result.insert(result.end(), grid.begin() + 1, grid.end() - 1);
  context.set_output(0, context.dtype(0), result);
}

// theta [batch, 2, 3] or [batch, 3, 4]; size is the image's [batch, channels, sizes ...].
void affine_grid(RuleContext& context) {
  const auto size = context.parameter("size", 1);
  const Shape& theta = context.shape(0);
  if (!size || size->size() < 4 || theta.size() != 3) {
    context.fail(concat("needs theta of 3 dimensions and the size of an image, got theta ", shape_text(theta)));
  }
  Shape result{theta[0]};
  result.insert(result.end(), size->begin() + 2, size->end());
  result.push_back(static_cast<std::int64_t>(size->size()) - 2);
  context.set_output(0, context.dtype(0), result);
}

// Columns [batch, channels * block, positions] back to an image.
void col2im(RuleContext& context) {
  const auto image = context.parameter("image_shape", 1);
  const auto block = context.parameter("block_shape", 2);
  const Shape& x = context.shape(0);
  if (!image || !block || x.size() != 3) {
    context.fail(concat("needs columns of 3 dimensions, the image's and the block's shape, got ", shape_text(x)));
  }
  const std::int64_t elements = element_count(*block);
  if (elements < 1 || x[1] % elements != 0) {
    context.fail(
        concat("the ", x[1], " rows of ", shape_text(x), " are no multiple of the block ", shape_text(*block)));
  }
  const Window window = window_of(context, *block, *image);
  const std::int64_t positions = element_count(window_positions(context, window, *image));
  if (positions != x[2]) {
    context.fail(concat("the block ", shape_text(*block), " fits ", positions, " times into ", shape_text(*image),
                        ", the columns are ", x[2]));
  }
  Shape result{x[0], x[1] / elements};
  result.insert(result.end(), image->begin(), image->end());
  context.set_output(0, context.dtype(0), result);
}

// torch.nn.functional.unfold: every window of the image as a column, [batch, channels * window, positions].
void im2col(RuleContext& context) {
  const Shape x = channels_first(context.attributes(), context.shape(0));
  if (x.size() < 3) context.fail(concat("input ", shape_text(x), " needs batch, channels and a spatial dimension"));
  const Shape input = spatial(x);
  const Window window = window_of(context, context.attributes().integers("kernel_shape"), input);
  const std::int64_t positions = element_count(window_positions(context, window, input));
  context.set_output(0, context.dtype(0), {x[0], element_count({x[1], element_count(window.kernel)}), positions});
}

}  // namespace

const std::vector<RuleRow>& resize_rules() {
  static const std::vector<RuleRow> rows{
      {OperatorId::resize, resize},           {OperatorId::upsample, upsample}, {OperatorId::grid_sample, grid_sample},
      {OperatorId::affine_grid, affine_grid}, {OperatorId::col2im, col2im},     {OperatorId::im2col, im2col},
  };
  return rows;
}

}  // namespace latpred::shapes
