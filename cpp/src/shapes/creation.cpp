#include <algorithm>
#include <cmath>

#include "latpred/text.h"
#include "shapes/fold.h"
#include "shapes/rules.h"

namespace latpred::shapes {
namespace {

DType dtype_attribute(const RuleContext& context, std::string_view name, DType fallback) {
  const std::int64_t code = context.attributes().integer(name, static_cast<std::int64_t>(fallback));
  if (code < 0 || code > 255) context.fail(concat("unknown element type ", code));
  return dtype_row(static_cast<DType>(code)).dtype;
}

// Its content stands in attributes: "value", a number or a list of one, and "value_dtype".
void constant_of_shape(RuleContext& context) {
  auto shape = context.parameter("shape", 0);
  if (!shape) context.fail("its shape is missing");
  const DType dtype = dtype_attribute(context, "value_dtype", DType::float32);
  // torch.Tensor.new_zeros: where input 1 has been saved with the batch that stands first here, its batch now.
  const Shape* saved = context.saved_input_shape(1);
  if (saved != nullptr && !saved->empty() && !shape->empty() && shape->front() == saved->front() &&
      context.rebatch()->is_static) {
    shape->front() = context.shape(1).at(0);
  }
  // Nothing says whether a 1 was the batch of the file.
  const bool is_doubtful = context.rebatch() != nullptr && context.rebatch()->is_static &&
                           context.attributes().has("may_hold_batch") && shape->size() > 1 &&
                           shape->front() == context.rebatch()->saved;
  if (is_doubtful && saved == nullptr) {
    context.warn(concat("makes ", shape_text(*shape),
                        " at every batch; re-export with a dynamic batch dimension if its ",
                        "first size is the batch"));
  }
  context.set_output(0, dtype, *shape);
  const std::int64_t count = element_count(*shape);
  if (count > (is_real(dtype) ? kMaxFoldedReals : kMaxFoldedElements)) return;
  const AttributeValue* value = context.attributes().find("value");
  Value content;
  if (is_real(dtype)) {
    const auto reals = value != nullptr ? context.real_parameter("value", 0) : std::vector<double>{0};
    if (reals->size() != 1) return;
    content.reals.assign(static_cast<std::size_t>(count), reals->front());
  } else {
    const auto integers = value != nullptr ? context.parameter("value", 0) : std::vector<std::int64_t>{0};
    if (integers->size() != 1) return;
    content.integers.assign(static_cast<std::size_t>(count), integers->front());
  }
  context.set_value(0, std::move(content));
}

// An attribute-only constant, where a reader did not store it as a variable.
void constant(RuleContext& context) {
  Value content;
  Shape shape;
  const Attributes& attributes = context.attributes();
  if (attributes.has("value_int")) {
    content = {.dtype = DType::int64, .integers = {attributes.integer("value_int", 0)}};
  } else if (attributes.has("value_float")) {
    content = {.dtype = DType::float32, .reals = {attributes.real("value_float", 0)}};
  } else if (attributes.has("value_ints")) {
    content = {.dtype = DType::int64, .integers = attributes.integers("value_ints")};
    shape = {size_of(content)};
  } else if (attributes.has("value_floats")) {
    content = {.dtype = DType::float32, .reals = attributes.reals("value_floats")};
    shape = {size_of(content)};
  } else {
    context.fail("its content is in no attribute that is known here");
  }
  context.set_output(0, content.dtype, shape);
  context.set_value(0, std::move(content));
}

void range(RuleContext& context) {
  const auto start = context.real_parameter("start", 0);
  const auto limit = context.real_parameter("limit", 1);
  const auto delta = context.real_parameter("delta", 2);
  if (!start || !limit || !delta || start->size() != 1 || limit->size() != 1 || delta->size() != 1) {
    context.fail("takes a start, a limit and a step, one number each");
  }
  if (delta->front() == 0) context.fail("its step is 0");
  const double length = std::ceil((limit->front() - start->front()) / delta->front());
  const std::int64_t count = std::max<std::int64_t>(0, to_integer(length));
  const DType dtype = context.has_input(0) ? context.dtype(0) : DType::int64;
  context.set_output(0, dtype, {count});
  if (count > kMaxFoldedElements) return;
  Value content;
  for (std::int64_t i = 0; i < count; ++i) {
    const double element = start->front() + static_cast<double>(i) * delta->front();
    is_real(dtype) ? content.reals.push_back(element) : content.integers.push_back(to_integer(element));
  }
  context.set_value(0, std::move(content));
}

void shape(RuleContext& context) {
  const Shape& input = context.shape(0);
  const std::int64_t rank = context.rank(0);
  const auto bounded = [rank](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const std::int64_t start = bounded(context.attributes().integer("start", 0));
  const std::int64_t end = std::max(start, bounded(context.attributes().integer("end", rank)));
  Value content{.integers = {input.begin() + start, input.begin() + end}};
  context.set_output(0, DType::int64, {end - start});
  context.set_value(0, std::move(content));
}

void size(RuleContext& context) {
  context.set_output(0, DType::int64, {});
  context.set_value(0, {.integers = {element_count(context.shape(0))}});
}

void like(RuleContext& context) {
  context.set_output(0, dtype_attribute(context, "dtype", context.dtype(0)), context.shape(0));
}

// Whole numbers have no distribution: without a type they give float32.
void random_like(RuleContext& context) {
  const DType fallback = is_real(context.dtype(0)) ? context.dtype(0) : DType::float32;
  context.set_output(0, dtype_attribute(context, "dtype", fallback), context.shape(0));
}

void random(RuleContext& context) {
  const auto shape = context.parameter("shape", 0);
  if (!shape) context.fail("its shape is missing");
  context.set_output(0, dtype_attribute(context, "dtype", DType::float32), *shape);
}

void multinomial(RuleContext& context) {
  if (context.rank(0) != 2) context.fail(concat("takes [batch, classes], got ", shape_text(context.shape(0))));
  context.set_output(0, dtype_attribute(context, "dtype", DType::int32),
                     {context.shape(0)[0], context.attributes().integer("sample_size", 1)});
}

void window(RuleContext& context) {
  const auto size = context.parameter("size", 0);
  if (!size || size->size() != 1) context.fail("its size must be one number");
  context.set_output(0, dtype_attribute(context, "output_datatype", DType::float32), {size->front()});
}

void mel_weight_matrix(RuleContext& context) {
  const auto bins = context.parameter("num_mel_bins", 0);
  const auto length = context.parameter("dft_length", 1);
  if (!bins || !length || bins->size() != 1 || length->size() != 1) context.fail("its sizes must be one number each");
  context.set_output(0, dtype_attribute(context, "output_datatype", DType::float32),
                     {length->front() / 2 + 1, bins->front()});
}

const std::vector<RuleRow> kCreationRules{
    {OperatorId::constant, constant},
    {OperatorId::constant_of_shape, constant_of_shape},
    {OperatorId::range, range},
    {OperatorId::shape, shape},
    {OperatorId::size, size},
    {OperatorId::eye_like, like},
    {OperatorId::random_normal, random},
    {OperatorId::random_normal_like, random_like},
    {OperatorId::random_uniform, random},
    {OperatorId::random_uniform_like, random_like},
    {OperatorId::multinomial, multinomial},
    {OperatorId::bernoulli, like},
    {OperatorId::blackman_window, window},
    {OperatorId::hann_window, window},
    {OperatorId::hamming_window, window},
    {OperatorId::mel_weight_matrix, mel_weight_matrix},
};

}  // namespace

const std::vector<RuleRow>& creation_rules() { return kCreationRules; }

}  // namespace latpred::shapes
