#include "shapes/rule.h"

#include <utility>

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred::shapes {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 62;

template <typename T>
std::vector<T> content(const Value& value) {
  if (value.integers.empty()) return {value.reals.begin(), value.reals.end()};
  return {value.integers.begin(), value.integers.end()};
}

}  // namespace

std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  bool is_empty = false;
  for (const std::int64_t size : shape) {
    is_empty = is_empty || size == 0;
    if (size != 0 && (__builtin_mul_overflow(count, size, &count) || count > kMaxElements)) {
      throw ShapeError(concat(shape_text(shape), " has more than 2^62 elements"));
    }
  }
  return is_empty ? 0 : count;
}

RuleContext::RuleContext(const Statement& statement, std::vector<const Known*> inputs,
                         std::vector<const Shape*> saved_inputs, std::vector<const Shape*> saved_outputs,
                         const Rebatch* rebatch)
    : statement_(statement),
      inputs_(std::move(inputs)),
      saved_inputs_(std::move(saved_inputs)),
      saved_outputs_(std::move(saved_outputs)),
      rebatch_(rebatch),
      outputs_(statement.outputs.size()) {}

const Shape& RuleContext::shape(std::size_t index) const {
  if (!has_input(index)) fail(concat("input ", index, " is missing"));
  return inputs_[index]->shape;
}

std::int64_t RuleContext::rank(std::size_t index) const { return static_cast<std::int64_t>(shape(index).size()); }

DType RuleContext::dtype(std::size_t index) const {
  if (!has_input(index)) fail(concat("input ", index, " is missing"));
  return inputs_[index]->dtype;
}

const Value* RuleContext::value(std::size_t index) const {
  return has_input(index) ? inputs_[index]->value.get() : nullptr;
}

std::optional<std::vector<std::int64_t>> RuleContext::parameter(std::string_view name, std::size_t index) const {
  if (const AttributeValue* attribute = attributes().find(name)) {
    if (const auto* one = std::get_if<std::int64_t>(attribute)) return std::vector<std::int64_t>{*one};
    return attributes().integers(name);
  }
  if (!has_input(index)) return std::nullopt;
  if (value(index) == nullptr) {
    fail(concat("its '", name, "' (input ", index, ") is computed from data, so sizes cannot be known before it runs"));
  }
  if (!value(index)->reals.empty()) fail(concat("its '", name, "' (input ", index, ") must be integers"));
  return content<std::int64_t>(*value(index));
}

std::optional<std::vector<double>> RuleContext::real_parameter(std::string_view name, std::size_t index) const {
  if (const AttributeValue* attribute = attributes().find(name)) {
    if (const auto* one = std::get_if<double>(attribute)) return std::vector<double>{*one};
    return attributes().reals(name);
  }
  if (!has_input(index)) return std::nullopt;
  if (value(index) == nullptr) {
    fail(concat("its '", name, "' (input ", index, ") is computed from data, so sizes cannot be known before it runs"));
  }
  return content<double>(*value(index));
}

std::int64_t RuleContext::normalized_axis(std::int64_t axis, std::int64_t rank) const {
  if (axis < -rank || axis >= rank) {
    fail(concat("axis ", axis, " is outside a tensor of ", rank, " dimensions"));
  }
  return axis < 0 ? axis + rank : axis;
}

void RuleContext::set_output(std::size_t index, DType dtype, Shape shape) {
  if (!has_output(index)) return;
  if (shape.size() > kMaxRank) fail(concat("output ", index, " has ", shape.size(), " dimensions, at most ", kMaxRank));
  for (const std::int64_t size : shape) {
    if (size < 0) fail(concat("output ", index, " would have a negative size: ", shape_text(shape)));
  }
  (void)element_count(shape);
  outputs_[index] = {.dtype = dtype, .has_shape = true, .shape = std::move(shape)};
}

void RuleContext::set_value(std::size_t index, Value value) {
  if (!has_output(index)) return;
  Known& output = outputs_[index];
  if (!output.has_shape) fail(concat("output ", index, " got a value before a shape"));
  const std::int64_t count = element_count(output.shape);
  if (count > kMaxFoldedElements) return;
  if (static_cast<std::int64_t>(value.integers.size() + value.reals.size()) != count) {
    fail(concat("output ", index, " ", shape_text(output.shape), " got ", value.integers.size() + value.reals.size(),
                " values"));
  }
  value.dtype = output.dtype;
  value.shape = output.shape;
  output.value = std::make_shared<const Value>(std::move(value));
}

const Shape* RuleContext::saved_input_shape(std::size_t index) const {
  return index < saved_inputs_.size() ? saved_inputs_[index] : nullptr;
}

const Shape* RuleContext::saved_output_shape(std::size_t index) const {
  return index < saved_outputs_.size() ? saved_outputs_[index] : nullptr;
}

void RuleContext::warn(std::string message) { warnings_.push_back(std::move(message)); }

void RuleContext::fail(const std::string& message) const { throw ShapeError(message); }

}  // namespace latpred::shapes
