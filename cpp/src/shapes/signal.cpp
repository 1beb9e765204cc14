#include <optional>

#include "latpred/text.h"
#include "shapes/rules.h"

namespace latpred::shapes {
namespace {

std::optional<std::int64_t> number(const RuleContext& context, std::string_view name, std::size_t index) {
  const auto values = context.parameter(name, index);
  if (!values || values->empty()) return std::nullopt;
  return values->front();
}

// Tensors of complex numbers, as torch.fft has them: along several `axes`, one side kept of the last.
void complex_dft(RuleContext& context) {
  Shape shape = context.shape(0);
  const Shape axes = context.attributes().integers("axes");
  const Shape lengths = context.attributes().integers("lengths");
  const bool is_onesided = context.attributes().integer("onesided", 0) != 0;
  const bool is_inverse = context.attributes().integer("inverse", 0) != 0;
  if (!lengths.empty() && lengths.size() != axes.size()) {
    context.fail(concat("lengths ", shape_text(lengths), " do not fit axes ", shape_text(axes)));
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::int64_t& size = shape[context.normalized_axis(axes[i], context.rank(0))];
    const bool is_half = is_onesided && i + 1 == axes.size();
    const std::int64_t by_default = is_half && is_inverse ? 2 * (size - 1) : size;
    const std::int64_t points = lengths.empty() || lengths[i] == -1 ? by_default : lengths[i];
    size = is_half && !is_inverse ? points / 2 + 1 : points;
  }
  context.set_output(0, context.dtype(0), shape);
}

// x [..., signal ..., 1 or 2]: real, or real and imaginary part. Up to opset 19 the axis is an attribute.
void dft(RuleContext& context) {
  if (context.attributes().has("axes")) return complex_dft(context);
  Shape shape = context.shape(0);
  if (shape.size() < 2 || (shape.back() != 1 && shape.back() != 2)) {
    context.fail(concat("input ", shape_text(shape), " must end in 1 (real) or 2 (real and imaginary part)"));
  }
  const bool is_onesided = context.attributes().integer("onesided", 0) != 0;
  const bool is_inverse = context.attributes().integer("inverse", 0) != 0;
  const auto length = number(context, "dft_length", 1);
  shape.back() = is_onesided && is_inverse ? 1 : 2;
  if (!is_onesided && !length) {  // the axis, which may be computed, does not matter
    context.set_output(0, context.dtype(0), shape);
    return;
  }
  const std::int64_t axis = context.normalized_axis(number(context, "axis", 2).value_or(-2), context.rank(0));
  // Back from one side, n/2 + 1 coefficients stand for n real samples.
  const std::int64_t by_default = is_onesided && is_inverse ? 2 * (shape[axis] - 1) : shape[axis];
  const std::int64_t points = length.value_or(by_default);
  shape[axis] = is_onesided && !is_inverse ? points / 2 + 1 : points;
  context.set_output(0, context.dtype(0), shape);
}

// torch.stft: [samples] or [batch, samples] to [.., frequencies, frames], or with both parts in a last dimension.
void frequencies_first_stft(RuleContext& context) {
  Shape shape = context.shape(0);
  const std::int64_t length = context.attributes().integer("frame_length", 0);
  const std::int64_t step = context.attributes().integer("frame_step", 0);
  if (shape.empty() || shape.size() > 2 || step < 1 || length < 1) {
    context.fail(concat("needs a signal [batch, samples] and positive frames and steps, got ", shape_text(shape)));
  }
  const bool is_centered = context.attributes().integer("center", 0) != 0;
  const std::int64_t samples = shape.back() + (is_centered ? length / 2 * 2 : 0);
  if (length > samples) context.fail(concat("frames of ", length, " do not fit into ", samples, " samples"));
  shape.back() = context.attributes().integer("onesided", 1) != 0 ? length / 2 + 1 : length;
  shape.push_back((samples - length) / step + 1);
  if (context.attributes().integer("return_complex", 0) == 0) shape.push_back(2);
  context.set_output(0, context.dtype(0), std::move(shape));
}

// signal [batch, samples, 1 or 2] (older files: [batch, samples]); frames of `frame_length`, or of the window's.
void stft(RuleContext& context) {
  if (context.attributes().integer("frequencies_first", 0) != 0) return frequencies_first_stft(context);
  const Shape& signal = context.shape(0);
  const auto step = number(context, "frame_step", 1);
  if (signal.size() < 2 || !step || *step < 1) {
    context.fail(concat("needs a signal [batch, samples, 1] and a positive frame step, got ", shape_text(signal)));
  }
  std::int64_t length = signal[1];
  if (const auto given = number(context, "frame_length", 3)) {
    length = *given;
  } else if (context.has_input(2) && context.rank(2) == 1) {
    length = context.shape(2)[0];
  }
  if (length < 1 || length > signal[1]) {
    context.fail(concat("frames of ", length, " do not fit into ", signal[1], " samples"));
  }
  const bool is_onesided = context.attributes().integer("onesided", 1) != 0;
  context.set_output(0, context.dtype(0),
                     {signal[0], (signal[1] - length) / *step + 1, is_onesided ? length / 2 + 1 : length, 2});
}

}  // namespace

const std::vector<RuleRow>& signal_rules() {
  static const std::vector<RuleRow> rows{{OperatorId::dft, dft}, {OperatorId::stft, stft}};
  return rows;
}

}  // namespace latpred::shapes
