#include <algorithm>
#include <cstdlib>

#include "latpred/text.h"
#include "readers/paddle/paddle_lowering.h"

// What makes tensors: constants, ranges, random numbers.
namespace latpred::readers {
namespace {

using Numbers = std::vector<std::int64_t>;

Value filled(DType dtype, const Shape& shape, std::int64_t count, double number, const std::string& text) {
  Value value{.dtype = dtype, .shape = shape, .integers = {}, .reals = {}};
  if (dtype_row(dtype).is_floating) {
    value.reals.assign(count, number);
  } else {
    // Text keeps integers beyond 2^53 whole; the range of a double beyond int64's is cut off.
    constexpr double kLimit = 9.2e18;
    const auto whole = static_cast<std::int64_t>(number == number ? std::clamp(number, -kLimit, kLimit) : 0);
    value.integers.assign(count, text.empty() ? whole : std::strtoll(text.c_str(), nullptr, 10));
  }
  return value;
}

// A tensor of `shape` filled with one number: known content where a size could depend on it, else a statement.
void fill(PaddleLowering& lowering, const PaddleIntegers& shape, VariableId given, std::string_view number_name,
          const std::string& number_text) {
  const VariableId output = lowering.output();
  if (output == kAbsent) return;
  const DType declared = lowering.variable(output).dtype;
  const DType dtype = lowering.dtype({"dtype"}, declared == DType::undefined ? DType::float32 : declared);
  const Value* content = lowering.content(given);
  double number = number_text.empty() ? lowering.real({number_name}, 0) : std::strtod(number_text.c_str(), nullptr);
  if (content != nullptr && content->reals.size() + content->integers.size() == 1) {
    number = content->reals.empty() ? static_cast<double>(content->integers[0]) : content->reals[0];
  }
  if (!shape.is_given()) lowering.fail("its shape is missing");
  std::int64_t count = 1;
  const bool is_known = given == kAbsent || content != nullptr;
  const bool is_small =
      shape.numbers && is_known && std::all_of(shape.numbers->begin(), shape.numbers->end(), [&](std::int64_t size) {
        return size >= 0 && !__builtin_mul_overflow(count, size, &count) && count <= kMaxFoldedElements;
      });
  if (is_small) {
    Value value = filled(dtype, *shape.numbers, count, number, number_text);
    Variable& variable = lowering.assembly().variable(output);
    variable.dtype = dtype;
    variable.is_stored = true;
    variable.is_trained = false;
    variable.has_shape = true;
    variable.value = std::make_shared<const Value>(std::move(value));
    return;
  }
  std::vector<VariableId> inputs;
  Attributes attributes = attributes_of({{"value_dtype", static_cast<std::int64_t>(dtype)}});
  if (is_known) {
    if (dtype_row(dtype).is_floating) {
      attributes.set("value", number);
    } else {
      attributes.set("value", filled(dtype, {}, 1, number, number_text).integers.front());
    }
  }
  place(shape, "shape", 0, inputs, attributes);
  lowering.emit(OperatorId::constant_of_shape, std::move(inputs), {output}, std::move(attributes));
}

void full(PaddleLowering& lowering, OperatorId) {
  if (lowering.op().is_pir) return fill(lowering, {lowering.integers({"shape"}), kAbsent}, kAbsent, "value", "");
  fill(lowering, lowering.parameter({"shape"}, "ShapeTensor", "ShapeTensorList", 0), lowering.input("ValueTensor", 0),
       "value", lowering.text({"str_value"}, ""));
}

void full_with_tensor(PaddleLowering& lowering, OperatorId) {
  fill(lowering, lowering.parameter({"shape"}, "", "", 1), lowering.needed("", 0), "value", "");
}

void full_like(PaddleLowering& lowering, OperatorId) {
  const VariableId sizes = lowering.make(OperatorId::shape, {lowering.needed("X", 0)});
  fill(lowering, {std::nullopt, sizes}, lowering.op().is_pir ? lowering.input("", 1) : kAbsent, "value", "");
}

// One size of the shape is taken from an input.
void full_batch_size_like(PaddleLowering& lowering, OperatorId) {
  const Numbers shape = lowering.integers({"shape"}).value_or(Numbers{});
  const std::int64_t from = lowering.integer({"input_dim_idx"}, 0);
  const std::int64_t to = lowering.integer({"output_dim_idx"}, 0);
  if (to < 0 || to >= static_cast<std::int64_t>(shape.size()) || from < 0 || from > kMaxAxis) {
    lowering.fail(concat("its output_dim_idx ", to, " is outside its shape ", shape_text(shape)));
  }
  const VariableId size = lowering.make(OperatorId::shape, {lowering.needed("Input", 0)},
                                        attributes_of({{"start", from}, {"end", from + 1}}));
  std::vector<VariableId> parts;
  if (to > 0) parts.push_back(lowering.integers_constant(Numbers(shape.begin(), shape.begin() + to)));
  parts.push_back(size);
  if (to + 1 < static_cast<std::int64_t>(shape.size())) {
    parts.push_back(lowering.integers_constant(Numbers(shape.begin() + to + 1, shape.end())));
  }
  const VariableId sizes = lowering.make(OperatorId::concat, parts, attributes_of({{"axis", std::int64_t{0}}}));
  fill(lowering, {std::nullopt, sizes}, kAbsent, "value", lowering.text({"str_value"}, ""));
}

// Content that stands in attributes: `full_int_array` and `assign_value`.
void stored_values(PaddleLowering& lowering, OperatorId) {
  const VariableId output = lowering.output();
  if (output == kAbsent) return;
  Variable& variable = lowering.assembly().variable(output);
  const DType dtype = lowering.dtype({"dtype"}, variable.dtype == DType::undefined ? DType::int64 : variable.dtype);
  Value value{.dtype = dtype, .shape = {}, .integers = {}, .reals = {}};
  std::vector<double> reals;
  for (const std::string_view name :
       {"value", "values", "fp32_values", "int32_values", "int64_values", "bool_values"}) {
    const auto found = lowering.reals({name});
    if (found && !found->empty()) reals = *found;
    const auto* integers = lowering.op().attributes.find(name);
    const auto* list = integers == nullptr ? nullptr : std::get_if<Numbers>(integers);
    if (list != nullptr && !list->empty()) value.integers = *list;
  }
  if (dtype_row(dtype).is_floating) {
    value.integers.clear();
    value.reals = reals;
  } else if (value.integers.empty()) {
    for (const double real : reals) value.integers.push_back(filled(dtype, {}, 1, real, "").integers.front());
  }
  const auto count = static_cast<std::int64_t>(value.integers.size() + value.reals.size());
  value.shape = lowering.integers({"shape"}).value_or(Numbers{count});
  std::int64_t elements = 1;
  for (const std::int64_t size : value.shape) {
    if (size < 0 || __builtin_mul_overflow(elements, size, &elements)) elements = -1;
    if (elements < 0) break;
  }
  if (elements != count) {
    lowering.fail(concat("it has ", count, " values for a shape of ", shape_text(value.shape)));
  }
  variable.dtype = dtype;
  variable.is_stored = true;
  variable.is_trained = false;
  variable.has_shape = true;
  variable.dimensions.clear();
  for (const std::int64_t size : value.shape) variable.dimensions.push_back({.size = size, .symbol = {}});
  if (count <= kMaxFoldedElements) variable.value = std::make_shared<const Value>(std::move(value));
}

void range(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, {lowering.needed("Start", 0), lowering.needed("End", 1), lowering.needed("Step", 2)},
                {lowering.output()});
}

void random(PaddleLowering& lowering, OperatorId op) {
  std::vector<VariableId> inputs;
  Attributes attributes;
  place(lowering.parameter({"shape"}, "ShapeTensor", "ShapeTensorList", 0), "shape", 0, inputs, attributes);
  lowering.emit(op, std::move(inputs), {lowering.output()}, std::move(attributes));
}

}  // namespace

const std::vector<PaddleRow>& paddle_creation_rows() {
  static const std::vector<PaddleRow> rows{
      {"full", kPir, full, OperatorId::constant_of_shape},
      {"fill_constant", kProgram, full, OperatorId::constant_of_shape},
      {"full_with_tensor", kPir, full_with_tensor, OperatorId::constant_of_shape},
      {"full_like", kPir, full_like, OperatorId::constant_of_shape},
      {"fill_any_like", kProgram, full_like, OperatorId::constant_of_shape},
      {"fill_zeros_like", kProgram, full_like, OperatorId::constant_of_shape},
      {"full_batch_size_like", kPir, full_batch_size_like, OperatorId::constant_of_shape},
      {"fill_constant_batch_size_like", kProgram, full_batch_size_like, OperatorId::constant_of_shape},
      {"full_int_array", kPir, stored_values, OperatorId::constant},
      {"assign_value", kBoth, stored_values, OperatorId::constant},
      {"arange", kPir, range, OperatorId::range},
      {"range", kProgram, range, OperatorId::range},
      {"gaussian", kPir, random, OperatorId::random_normal},
      {"gaussian_random", kProgram, random, OperatorId::random_normal},
      {"uniform", kPir, random, OperatorId::random_uniform},
      {"uniform_random", kProgram, random, OperatorId::random_uniform},
  };
  return rows;
}

}  // namespace latpred::readers
