#pragma once

#include <cstdint>
#include <vector>

#include "shapes/rule.h"

namespace latpred::shapes {

// Shape arithmetic on small known tensors. Each function sets the content of an output that has its shape already, and
// does nothing where an input's content is unknown or the result has more than kMaxFoldedElements elements.

// Whether the elements of `dtype` stand in Value::reals.
[[nodiscard]] inline bool is_real(DType dtype) { return dtype_row(dtype).is_floating; }

// Element `index` of `value`, converted.
[[nodiscard]] double real_at(const Value& value, std::int64_t index);
[[nodiscard]] std::int64_t integer_at(const Value& value, std::int64_t index);
[[nodiscard]] std::vector<std::int64_t> integers_of(const Value& value);
[[nodiscard]] std::int64_t size_of(const Value& value);

// A real as an integer type holds it: truncated, and clamped where it does not fit.
[[nodiscard]] std::int64_t to_integer(double real);

// output 0 = operation(input 0); nullptr for `integers`: integers are computed as reals and truncated.
void fold_unary(RuleContext& context, std::int64_t (*integers)(std::int64_t), double (*reals)(double));
// output 0 = operation(input 0, input 1), broadcast.
void fold_binary(RuleContext& context, std::int64_t (*integers)(std::int64_t, std::int64_t),
                 double (*reals)(double, double));
// output 0 = input 0 op input 1 op ..., broadcast (min, max, sum).
void fold_variadic(RuleContext& context, std::int64_t (*integers)(std::int64_t, std::int64_t),
                   double (*reals)(double, double));
// output 0 = comparison(input 0, input 1), booleans, broadcast.
void fold_compare(RuleContext& context, bool (*integers)(std::int64_t, std::int64_t), bool (*reals)(double, double));
// output = the elements of `input` in the same order, converted to the output's type (reshape, cast, identity).
void fold_copy(RuleContext& context, std::size_t input, std::size_t output = 0);
// output[i] = input[source(i)]
template <typename Source>
void fold_pick(RuleContext& context, std::size_t input, std::size_t output, Source source) {
  const Value* value = context.value(input);
  if (value == nullptr || !context.has_output(output)) return;
  const std::int64_t count = element_count(context.outputs()[output].shape);
  if (count > kMaxFoldedElements) return;
  Value result;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t from = source(i);
    if (value->reals.empty()) {
      result.integers.push_back(value->integers.at(static_cast<std::size_t>(from)));
    } else {
      result.reals.push_back(value->reals.at(static_cast<std::size_t>(from)));
    }
  }
  context.set_value(output, std::move(result));
}

// Row-major position <-> coordinates.
[[nodiscard]] std::vector<std::int64_t> coordinates(std::int64_t index, const Shape& shape);
[[nodiscard]] std::int64_t position(const std::vector<std::int64_t>& coordinates, const Shape& shape);

}  // namespace latpred::shapes
