#include "shapes/fold.h"

#include <limits>
#include <utility>

#include "shapes/broadcast.h"

namespace latpred::shapes {
namespace {

bool is_small(RuleContext& context, std::size_t output) {
  return context.has_output(output) && context.outputs()[output].has_shape &&
         element_count(context.outputs()[output].shape) <= kMaxFoldedElements;
}

bool are_known(const RuleContext& context, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (context.value(i) == nullptr) return false;
  }
  return count > 0;
}

}  // namespace

std::int64_t to_integer(double real) {
  constexpr double kLimit = 9.2233720368547748e18;  // the largest double below 2^63
  if (!(real > -kLimit)) return real == real ? std::numeric_limits<std::int64_t>::min() : 0;
  if (real > kLimit) return std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(real);
}

double real_at(const Value& value, std::int64_t index) {
  const auto i = static_cast<std::size_t>(index);
  return value.reals.empty() ? static_cast<double>(value.integers.at(i)) : value.reals.at(i);
}

std::int64_t integer_at(const Value& value, std::int64_t index) {
  const auto i = static_cast<std::size_t>(index);
  return value.reals.empty() ? value.integers.at(i) : to_integer(value.reals.at(i));
}

std::int64_t size_of(const Value& value) {
  return static_cast<std::int64_t>(value.integers.size() + value.reals.size());
}

std::vector<std::int64_t> integers_of(const Value& value) {
  if (value.reals.empty()) return value.integers;
  std::vector<std::int64_t> result;
  for (const double real : value.reals) result.push_back(to_integer(real));
  return result;
}

void fold_unary(RuleContext& context, std::int64_t (*integers)(std::int64_t), double (*reals)(double)) {
  if (!are_known(context, 1) || !is_small(context, 0)) return;
  const Value& input = *context.value(0);
  const bool real_input = is_real(context.dtype(0)) || integers == nullptr;
  const bool real_output = is_real(context.outputs()[0].dtype);
  Value result;
  for (std::int64_t i = 0; i < size_of(input); ++i) {
    if (real_input) {
      const double y = reals(real_at(input, i));
      real_output ? result.reals.push_back(y) : result.integers.push_back(to_integer(y));
    } else {
      result.integers.push_back(integers(integer_at(input, i)));
    }
  }
  context.set_value(0, std::move(result));
}

void fold_binary(RuleContext& context, std::int64_t (*integers)(std::int64_t, std::int64_t),
                 double (*reals)(double, double)) {
  if (context.num_inputs() == 2) fold_variadic(context, integers, reals);
}

void fold_variadic(RuleContext& context, std::int64_t (*integers)(std::int64_t, std::int64_t),
                   double (*reals)(double, double)) {
  if (!are_known(context, context.num_inputs()) || !is_small(context, 0)) return;
  const Shape shape = context.outputs()[0].shape;
  const std::int64_t count = element_count(shape);
  const bool is_real_type = is_real(context.outputs()[0].dtype);
  if (!is_real_type && integers == nullptr) return;
  Value result;
  for (std::int64_t i = 0; i < count; ++i) {
    double real = 0;
    std::int64_t integer = 0;
    for (std::size_t k = 0; k < context.num_inputs(); ++k) {
      const Value& input = *context.value(k);
      const std::int64_t from = broadcast_source(i, shape, context.shape(k));
      if (is_real_type) {
        real = k == 0 ? real_at(input, from) : reals(real, real_at(input, from));
      } else {
        integer = k == 0 ? integer_at(input, from) : integers(integer, integer_at(input, from));
      }
    }
    is_real_type ? result.reals.push_back(real) : result.integers.push_back(integer);
  }
  context.set_value(0, std::move(result));
}

void fold_compare(RuleContext& context, bool (*integers)(std::int64_t, std::int64_t), bool (*reals)(double, double)) {
  if (context.num_inputs() != 2 || !are_known(context, 2) || !is_small(context, 0)) return;
  const Shape shape = context.outputs()[0].shape;
  const std::int64_t count = element_count(shape);
  const Value& a = *context.value(0);
  const Value& b = *context.value(1);
  const bool as_reals = is_real(context.dtype(0)) || is_real(context.dtype(1));
  Value result;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t left = broadcast_source(i, shape, context.shape(0));
    const std::int64_t right = broadcast_source(i, shape, context.shape(1));
    result.integers.push_back(as_reals ? reals(real_at(a, left), real_at(b, right))
                                       : integers(integer_at(a, left), integer_at(b, right)));
  }
  context.set_value(0, std::move(result));
}

void fold_copy(RuleContext& context, std::size_t input, std::size_t output) {
  const Value* value = context.value(input);
  if (value == nullptr || !is_small(context, output)) return;
  const DType to = context.outputs()[output].dtype;
  Value result;
  if (is_real(to)) {
    for (std::int64_t i = 0; i < size_of(*value); ++i) result.reals.push_back(real_at(*value, i));
  } else if (to == DType::boolean) {
    for (std::int64_t i = 0; i < size_of(*value); ++i) result.integers.push_back(real_at(*value, i) != 0);
  } else {
    result.integers = integers_of(*value);
  }
  context.set_value(output, std::move(result));
}

std::vector<std::int64_t> coordinates(std::int64_t index, const Shape& shape) {
  std::vector<std::int64_t> result(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    result[axis] = index % shape[axis];
    index /= shape[axis];
  }
  return result;
}

std::int64_t position(const std::vector<std::int64_t>& coordinates, const Shape& shape) {
  std::int64_t result = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) result = result * shape[axis] + coordinates[axis];
  return result;
}

}  // namespace latpred::shapes
