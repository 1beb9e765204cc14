#include <algorithm>
#include <cstdlib>

#include "latpred/text.h"
#include "readers/paddle_lowering.h"

namespace latpred::readers {
namespace {

using Numbers = std::vector<std::int64_t>;

constexpr std::int64_t kMaxAxis = 64;  // more dimensions than any framework has

void reshape(PaddleLowering& lowering, OperatorId op) {
  std::vector<VariableId> inputs{lowering.needed("X", 0)};
  Attributes attributes;
  place(lowering.parameter({"shape"}, "Shape", "ShapeTensor", 1), "shape", 1, inputs, attributes);
  lowering.emit(op, std::move(inputs), {lowering.output()}, std::move(attributes));
}

// Dimensions `start` to `stop` become one.
void flatten_range(PaddleLowering& lowering, OperatorId op) {
  const VariableId x = lowering.needed("X", 0);
  std::int64_t start = lowering.integer({"start_axis"}, 1);
  std::int64_t stop = lowering.integer({"stop_axis"}, 1);
  const std::int64_t rank = lowering.rank(x);
  if (rank >= 0 && start < 0) start += rank;
  if (rank >= 0 && stop < 0) stop += rank;
  if (start < 0 || stop < start || stop > kMaxAxis) {
    lowering.fail(concat("cannot flatten dimensions ", start, " to ", stop));
  }
  if (stop == rank - 1 && start == 1) {
    return lowering.emit(OperatorId::flatten, {x}, {lowering.output()}, attributes_of({{"axis", std::int64_t{1}}}));
  }
  Numbers target(start, 0);
  target.push_back(-1);
  if (stop == rank - 1) return lowering.emit(op, {x}, {lowering.output()}, attributes_of({{"shape", target}}));
  const VariableId behind = lowering.make(OperatorId::shape, {x}, attributes_of({{"start", stop + 1}}));
  const VariableId sizes = lowering.make(OperatorId::concat, {lowering.integers_constant(target), behind},
                                         attributes_of({{"axis", std::int64_t{0}}}));
  lowering.emit(op, {x, sizes}, {lowering.output()});
}

void flatten(PaddleLowering& lowering, OperatorId op) {
  if (lowering.op().is_pir) return flatten_range(lowering, OperatorId::reshape);
  lowering.emit(op, {lowering.needed("X", 0)}, {lowering.output()},
                attributes_of({{"axis", lowering.integer({"axis"}, 1)}}));
}

// Paddle passes over axes whose size is not 1.
void squeeze(PaddleLowering& lowering, OperatorId op) {
  const VariableId x = lowering.needed("X", 0);
  std::vector<VariableId> inputs{x};
  PaddleIntegers axes = lowering.parameter({"axes", "axis"}, "AxesTensor", "AxesTensorList", 1);
  if (axes.numbers) {
    std::erase_if(*axes.numbers, [&](std::int64_t axis) {
      const std::int64_t size = lowering.declared_size(x, axis);
      return size != kUnknownSize && size != 1;
    });
    if (axes.numbers->empty() && lowering.integers({"axes", "axis"}).value_or(Numbers{}).empty()) axes = {};
  }
  Attributes attributes;
  place(axes, "axes", 1, inputs, attributes);
  lowering.emit(op, std::move(inputs), {lowering.output()}, std::move(attributes));
}

void unsqueeze(PaddleLowering& lowering, OperatorId op) {
  std::vector<VariableId> inputs{lowering.needed("X", 0)};
  Attributes attributes;
  place(lowering.parameter({"axes", "axis"}, "AxesTensor", "AxesTensorList", 1), "axes", 1, inputs, attributes);
  lowering.emit(op, std::move(inputs), {lowering.output()}, std::move(attributes));
}

void expand(PaddleLowering& lowering, OperatorId op) {
  std::vector<VariableId> inputs{lowering.needed("X", 0)};
  Attributes attributes;
  place(lowering.parameter({"shape"}, "Shape", "expand_shapes_tensor", 1), "shape", 1, inputs, attributes);
  lowering.emit(op, std::move(inputs), {lowering.output()}, std::move(attributes));
}

void expand_as(PaddleLowering& lowering, OperatorId op) {
  const VariableId like = lowering.input("Y", 1);
  std::vector<VariableId> inputs{lowering.needed("X", 0)};
  Attributes attributes;
  if (like != kAbsent) {
    inputs.push_back(lowering.make(OperatorId::shape, {like}));
  } else {
    attributes.set("shape", lowering.integers({"target_shape"}).value_or(Numbers{}));
  }
  lowering.emit(op, std::move(inputs), {lowering.output()}, std::move(attributes));
}

void tile(PaddleLowering& lowering, OperatorId op) {
  std::vector<VariableId> inputs{lowering.needed("X", 0)};
  Attributes attributes;
  const bool is_old = lowering.op().name == "expand";
  place(lowering.parameter({"repeat_times", "expand_times"}, is_old ? "ExpandTimes" : "RepeatTimes",
                           is_old ? "expand_times_tensor" : "repeat_times_tensor", 1),
        "repeats", 1, inputs, attributes);
  lowering.emit(op, std::move(inputs), {lowering.output()}, std::move(attributes));
}

void transpose(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, {lowering.needed("X", 0)}, {lowering.output()},
                attributes_of({{"perm", lowering.integers({"axis", "perm"}).value_or(Numbers{})}}));
}

// Up to version 2.4 a result without dimensions was stored with one.
void slice(PaddleLowering& lowering, OperatorId op) {
  const VariableId x = lowering.needed("Input", 0);
  const VariableId output = lowering.output();
  std::vector<VariableId> inputs{x};
  Attributes attributes;
  if (const auto axes = lowering.integers({"axes"})) attributes.set("axes", *axes);
  place(lowering.parameter({"starts"}, "StartsTensor", "StartsTensorList", 1), "starts", 1, inputs, attributes);
  place(lowering.parameter({"ends"}, "EndsTensor", "EndsTensorList", 2), "ends", 2, inputs, attributes);
  if (lowering.op().name == "strided_slice") {
    place(lowering.parameter({"strides"}, "StridesTensor", "StridesTensorList", 3), "steps", 4, inputs, attributes);
  }
  Numbers dropped = lowering.integers({"decrease_axis"}).value_or(Numbers{});
  const std::int64_t rank = lowering.rank(x);
  const bool drops_all = rank > 0 && static_cast<std::int64_t>(dropped.size()) == rank;
  if (drops_all && lowering.rank(output) == 1) dropped.pop_back();
  if (dropped.empty()) return lowering.emit(op, std::move(inputs), {output}, std::move(attributes));
  const VariableId value = lowering.make(op, std::move(inputs), std::move(attributes));
  lowering.emit(OperatorId::squeeze, {value}, {output}, attributes_of({{"axes", dropped}}));
}

void select(PaddleLowering& lowering, VariableId x, std::int64_t axis, const std::vector<VariableId>& outputs) {
  std::vector<VariableId> parts;
  for (std::size_t i = 0; i < outputs.size(); ++i) parts.push_back(lowering.temporary());
  lowering.emit(OperatorId::split, {x}, parts, attributes_of({{"axis", axis}}));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    lowering.emit(OperatorId::squeeze, {parts[i]}, {outputs[i]}, attributes_of({{"axes", Numbers{axis}}}));
  }
}

void unbind(PaddleLowering& lowering, OperatorId) {
  const std::vector<VariableId> outputs = lowering.outputs(lowering.op().name == "unstack" ? "Y" : "Out", 0);
  select(lowering, lowering.needed("X", 0), lowering.integer({"axis"}, 0), outputs);
}

std::int64_t axis_of(PaddleLowering& lowering, std::size_t position) {
  const PaddleIntegers axis = lowering.parameter({"axis"}, "AxisTensor", "", position);
  if (axis.variable != kAbsent) lowering.fail("its axis is computed, so that no size can be known before it runs");
  return axis.numbers && axis.numbers->size() == 1 ? axis.numbers->front() : 0;
}

void join(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, lowering.inputs("X", 0), {lowering.output()}, attributes_of({{"axis", axis_of(lowering, 1)}}));
}

void stack(PaddleLowering& lowering, OperatorId op) {
  const std::int64_t axis = lowering.integer({"axis"}, 0);
  std::vector<VariableId> parts;
  for (const VariableId id : lowering.inputs("X", 0)) {
    parts.push_back(lowering.make(OperatorId::unsqueeze, {id}, attributes_of({{"axes", Numbers{axis}}})));
  }
  lowering.emit(op, std::move(parts), {lowering.output("Y", 0)}, attributes_of({{"axis", axis}}));
}

// One part may be open (-1): it takes what remains.
void split(PaddleLowering& lowering, OperatorId op) {
  const VariableId x = lowering.needed("X", 0);
  const bool is_counted = lowering.op().name == "split_with_num";
  const std::int64_t axis = axis_of(lowering, is_counted ? 1 : 2);
  std::vector<VariableId> outputs = lowering.outputs("Out", 0);
  Attributes attributes = attributes_of({{"axis", axis}});
  std::vector<VariableId> inputs{x};
  PaddleIntegers parts;
  if (!is_counted) parts = lowering.parameter({"sections"}, "", "SectionsTensorList", 1);
  if (parts.numbers) {
    const auto open = std::find(parts.numbers->begin(), parts.numbers->end(), -1);
    const std::int64_t size = lowering.declared_size(x, axis);
    if (open != parts.numbers->end()) {
      if (size == kUnknownSize) lowering.fail("one part is open and so is the dimension that it splits");
      std::int64_t rest = size;
      for (const std::int64_t part : *parts.numbers) rest -= part == -1 ? 0 : std::clamp<std::int64_t>(part, 0, size);
      *open = rest;
    }
    if (parts.numbers->empty()) parts = {};  // equal parts
  }
  place(parts, "split", 1, inputs, attributes);
  lowering.emit(op, std::move(inputs), std::move(outputs), std::move(attributes));
}

// `pad` has begin and end of every dimension; `pad3d` those of the spatial ones, the last one first; `pad2d` top,
// bottom, left, right.
void pad(PaddleLowering& lowering, OperatorId op) {
  const VariableId x = lowering.needed("X", 0);
  const std::string_view name = lowering.op().name;
  const PaddleIntegers given = name == "pad" ? PaddleIntegers{lowering.integers({"paddings"}), kAbsent}
                                             : lowering.parameter({"paddings"}, "Paddings", "", 1);
  if (!given.numbers) lowering.fail("its paddings are missing or computed, which is not read");
  const Numbers& pairs = *given.numbers;
  if (pairs.size() % 2 != 0 || pairs.size() > 2 * kMaxAxis) {
    lowering.fail(concat("its paddings ", shape_text(pairs), " are no pairs"));
  }
  const auto count = static_cast<std::int64_t>(pairs.size() / 2);
  Numbers axes;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t first = lowering.is_channels_last() ? 1 : 2;
    axes.push_back(name == "pad" ? i : name == "pad3d" ? first + count - 1 - i : first + i);
  }
  Numbers pads;
  for (std::int64_t i = 0; i < count; ++i) pads.push_back(pairs[2 * i]);
  for (std::int64_t i = 0; i < count; ++i) pads.push_back(pairs[2 * i + 1]);
  lowering.emit(op, {x}, {lowering.output()}, attributes_of({{"pads", pads}, {"axes", axes}}));
}

void same(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, {lowering.needed("X", 0)}, {lowering.output()});
}

// --- constants ---

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

constexpr auto kBoth = PaddleFormat::both;
constexpr auto kPir = PaddleFormat::pir;
constexpr auto kProgram = PaddleFormat::program;

}  // namespace

const std::vector<PaddleRow>& paddle_view_rows() {
  static const std::vector<PaddleRow> rows{
      {"reshape", kBoth, reshape, OperatorId::reshape},
      {"reshape2", kProgram, reshape, OperatorId::reshape},
      {"flatten", kBoth, flatten, OperatorId::flatten},
      {"flatten2", kProgram, flatten, OperatorId::flatten},
      {"flatten_contiguous_range", kProgram, flatten_range, OperatorId::reshape},
      {"squeeze", kBoth, squeeze, OperatorId::squeeze},
      {"squeeze2", kProgram, squeeze, OperatorId::squeeze},
      {"unsqueeze", kBoth, unsqueeze, OperatorId::unsqueeze},
      {"unsqueeze2", kProgram, unsqueeze, OperatorId::unsqueeze},
      {"expand", kPir, expand, OperatorId::expand},
      {"expand_v2", kProgram, expand, OperatorId::expand},
      {"expand", kProgram, tile, OperatorId::tile},
      {"expand_as", kBoth, expand_as, OperatorId::expand},
      {"expand_as_v2", kProgram, expand_as, OperatorId::expand},
      {"tile", kBoth, tile, OperatorId::tile},
      {"transpose", kBoth, transpose, OperatorId::transpose},
      {"transpose2", kProgram, transpose, OperatorId::transpose},
      {"slice", kBoth, slice, OperatorId::slice},
      {"strided_slice", kBoth, slice, OperatorId::slice},
      {"unbind", kBoth, unbind, OperatorId::split},
      {"unstack", kBoth, unbind, OperatorId::split},
      {"concat", kBoth, join, OperatorId::concat},
      {"stack", kBoth, stack, OperatorId::concat},
      {"split", kBoth, split, OperatorId::split},
      {"split_with_num", kPir, split, OperatorId::split},
      {"pad", kBoth, pad, OperatorId::pad},
      {"pad2d", kProgram, pad, OperatorId::pad},
      {"pad3d", kBoth, pad, OperatorId::pad},
      {"roll", kBoth, same, OperatorId::roll},
      {"flip", kBoth, same, OperatorId::flip},
      {"tril", kBoth, same, OperatorId::trilu},
      {"triu", kBoth, same, OperatorId::trilu},
      {"tril_triu", kProgram, same, OperatorId::trilu},
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
