#include <algorithm>

#include "latpred/text.h"
#include "operators/layout.h"
#include "shapes/broadcast.h"
#include "shapes/element_type.h"
#include "shapes/rules.h"

namespace latpred::shapes {
namespace {

void same(RuleContext& context) { context.set_output(0, context.dtype(0), context.shape(0)); }

void check_channels(const RuleContext& context, std::size_t first, std::size_t last, std::int64_t channels) {
  for (std::size_t i = first; i <= last; ++i) {
    if (context.has_input(i) && element_count(context.shape(i)) != channels) {
      context.fail(concat("input ", i, " ", shape_text(context.shape(i)), " must have one number for each of the ",
                          channels, " channels of ", shape_text(context.shape(0))));
    }
  }
}

std::int64_t channels_of(const RuleContext& context) {
  const Shape& x = context.shape(0);
  return x.size() > 1 ? x[channel_axis(context.attributes(), x.size())] : 1;  // a single dimension is the batch
}

// Further outputs, in training: running statistics, up to opset 8 the saved ones too.
void batch_norm(RuleContext& context) {
  const std::int64_t channels = channels_of(context);
  const bool is_spatial =
      context.attributes().integer("spatial", 1) != 0;  // opsets up to 8 knew statistics per element
  if (is_spatial) check_channels(context, 1, 4, channels);
  same(context);
  for (std::size_t i = 1; i < context.num_outputs(); ++i) {
    context.set_output(i, context.dtype(context.has_input(3) ? 3 : 0), context.shape(context.has_input(3) ? 3 : 1));
  }
}

// Mean and inverse deviation keep the dimensions before `axis`; the others shrink to 1.
Shape statistics_shape(const RuleContext& context) {
  Shape shape = context.shape(0);
  const std::int64_t axis = context.normalized_axis(context.attributes().integer("axis", -1), context.rank(0));
  std::fill(shape.begin() + axis, shape.end(), 1);
  return shape;
}

// The precision of the statistics; 1 (float32) unless the file says otherwise.
DType stash_type(const RuleContext& context) {
  return element_type(context, context.attributes().integer("stash_type", 1));
}

void layer_norm(RuleContext& context) {
  const Shape& x = context.shape(0);
  const std::int64_t axis = context.normalized_axis(context.attributes().integer("axis", -1), context.rank(0));
  const Shape normalized(x.begin() + axis, x.end());
  for (std::size_t i = 1; i < context.num_inputs(); ++i) {
    if (context.has_input(i) && !broadcasts_to(context.shape(i), x)) {
      context.fail(concat("input ", i, " ", shape_text(context.shape(i)), " does not broadcast to the normalized ",
                          shape_text(normalized), " of ", shape_text(x)));
    }
  }
  same(context);
  for (std::size_t i = 1; i < context.num_outputs(); ++i) {
    context.set_output(i, stash_type(context), statistics_shape(context));
  }
}

// Inputs x, skip, scale, bias(es); outputs the result, mean, inverse deviation, and x + skip.
void skip_norm(RuleContext& context) {
  const Shape& x = context.shape(0);
  if (x.empty() || !broadcasts_to(context.shape(1), x)) {
    context.fail(concat("skip ", shape_text(context.shape(1)), " does not broadcast to ", shape_text(x)));
  }
  check_channels(context, 2, context.num_inputs() - 1, x.back());
  Shape statistics = x;
  statistics.back() = 1;
  same(context);
  context.set_output(1, DType::float32, statistics);
  context.set_output(2, DType::float32, statistics);
  context.set_output(3, context.dtype(0), x);
}

// Inputs: token ids, segment ids, then the tables of words, positions and segments, scale, bias, mask, position ids.
void embed_layer_norm(RuleContext& context) {
  const Shape& ids = context.shape(0);
  const Shape& words = context.shape(2);
  if (ids.size() != 2 || words.size() != 2) {
    context.fail(
        concat("ids ", shape_text(ids), " and the table of words ", shape_text(words), " must have 2 dimensions"));
  }
  const Shape shape{ids[0], ids[1], words[1]};
  context.set_output(0, context.dtype(2), shape);
  context.set_output(1, DType::int32, {ids[0]});
  context.set_output(2, context.dtype(2), shape);
}

void group_norm(RuleContext& context) {
  const std::int64_t channels = channels_of(context);
  const std::int64_t groups = context.attributes().integer("num_groups", 1);
  if (groups < 1 || channels % groups != 0) {
    context.fail(
        concat(channels, " channels of ", shape_text(context.shape(0)), " cannot be split into ", groups, " groups"));
  }
  same(context);
}

void instance_norm(RuleContext& context) {
  check_channels(context, 1, 2, channels_of(context));
  same(context);
}

}  // namespace

const std::vector<RuleRow>& normalization_rules() {
  static const std::vector<RuleRow> rows{
      {OperatorId::batch_norm, batch_norm},
      {OperatorId::layer_norm, layer_norm},
      {OperatorId::rms_norm, layer_norm},
      {OperatorId::skip_layer_norm, skip_norm},
      {OperatorId::skip_rms_norm, skip_norm},
      {OperatorId::embed_layer_norm, embed_layer_norm},
      {OperatorId::lp_norm, same},
      {OperatorId::mean_variance_norm, same},
      {OperatorId::group_norm, group_norm},
      {OperatorId::instance_norm, instance_norm},
      {OperatorId::lrn, same},
  };
  return rows;
}

}  // namespace latpred::shapes
