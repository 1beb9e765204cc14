#include "readers/paddle/paddle_lowering.h"

#include <algorithm>
#include <cmath>

#include "latpred/text.h"
#include "readers/paddle/paddle_operators.h"

namespace latpred::readers {
namespace {

const PaddleSlot* slot(const PaddleOperator& op, const std::vector<PaddleSlot>& slots, std::string_view parameter,
                       std::size_t position) {
  if (op.is_pir) return position < slots.size() ? &slots[position] : nullptr;
  const auto found =
      std::find_if(slots.begin(), slots.end(), [&](const PaddleSlot& one) { return one.parameter == parameter; });
  return found != slots.end() ? &*found : nullptr;
}

}  // namespace

std::vector<VariableId> PaddleLowering::inputs(std::string_view parameter, std::size_t position) const {
  const PaddleSlot* found = slot(op_, op_.inputs, parameter, position);
  return found != nullptr ? found->variables : std::vector<VariableId>{};
}

VariableId PaddleLowering::input(std::string_view parameter, std::size_t position) const {
  const PaddleSlot* found = slot(op_, op_.inputs, parameter, position);
  return found != nullptr && !found->variables.empty() ? found->variables.front() : kAbsent;
}

VariableId PaddleLowering::needed(std::string_view parameter, std::size_t position) const {
  const VariableId found = input(parameter, position);
  if (found == kAbsent) fail(concat("its input '", parameter, "' is missing"));
  return found;
}

std::vector<VariableId> PaddleLowering::outputs(std::string_view parameter, std::size_t position) const {
  const PaddleSlot* found = slot(op_, op_.outputs, parameter, position);
  return found != nullptr ? found->variables : std::vector<VariableId>{};
}

VariableId PaddleLowering::output(std::string_view parameter, std::size_t position) const {
  const PaddleSlot* found = slot(op_, op_.outputs, parameter, position);
  if (found == nullptr || found->variables.empty()) return kAbsent;
  return found->variables.front();
}

std::int64_t PaddleLowering::integer(Names names, std::int64_t fallback) const {
  for (const std::string_view name : names) {
    const AttributeValue* value = op_.attributes.find(name);
    if (value == nullptr) continue;
    if (const auto* integer = std::get_if<std::int64_t>(value)) return *integer;
    fail(concat("its attribute '", name, "' is no integer"));
  }
  return fallback;
}

double PaddleLowering::real(Names names, double fallback) const {
  for (const std::string_view name : names) {
    const AttributeValue* value = op_.attributes.find(name);
    if (value == nullptr) continue;
    if (const auto* real = std::get_if<double>(value)) return *real;
    if (const auto* integer = std::get_if<std::int64_t>(value)) return static_cast<double>(*integer);
    fail(concat("its attribute '", name, "' is no number"));
  }
  return fallback;
}

std::string PaddleLowering::text(Names names, std::string_view fallback) const {
  for (const std::string_view name : names) {
    const AttributeValue* value = op_.attributes.find(name);
    if (value == nullptr) continue;
    if (const auto* text = std::get_if<std::string>(value)) return *text;
    fail(concat("its attribute '", name, "' is no text"));
  }
  return std::string(fallback);
}

// One number counts as a list of one; an empty list has no type in PIR.
std::optional<std::vector<std::int64_t>> PaddleLowering::integers(Names names) const {
  for (const std::string_view name : names) {
    const AttributeValue* value = op_.attributes.find(name);
    if (value == nullptr) continue;
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(value)) return *list;
    if (const auto* one = std::get_if<std::int64_t>(value)) return std::vector<std::int64_t>{*one};
    if (const auto* reals = std::get_if<std::vector<double>>(value); reals != nullptr && reals->empty()) {
      return std::vector<std::int64_t>{};
    }
    fail(concat("its attribute '", name, "' is no list of integers"));
  }
  return std::nullopt;
}

std::optional<std::vector<double>> PaddleLowering::reals(Names names) const {
  for (const std::string_view name : names) {
    const AttributeValue* value = op_.attributes.find(name);
    if (value == nullptr) continue;
    if (const auto* list = std::get_if<std::vector<double>>(value)) return *list;
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(value)) {
      return std::vector<double>(list->begin(), list->end());
    }
    return std::vector<double>{real({name}, 0)};
  }
  return std::nullopt;
}

DType PaddleLowering::dtype(Names names, DType fallback) const {
  for (const std::string_view name : names) {
    const AttributeValue* value = op_.attributes.find(name);
    if (value == nullptr) continue;
    DType dtype = DType::undefined;
    if (const auto* text = std::get_if<std::string>(value)) dtype = paddle_dtype(*text);
    if (const auto* code = std::get_if<std::int64_t>(value)) dtype = paddle_dtype(*code);
    return dtype == DType::undefined ? fallback : dtype;
  }
  return fallback;
}

PaddleIntegers PaddleLowering::parameter(Names attributes, std::string_view tensor, std::string_view list,
                                         std::size_t position) {
  if (op_.is_pir) {
    const std::vector<VariableId> given = inputs("", position);
    if (!given.empty()) return pieces(given);
  } else {
    if (const auto given = inputs(list, 0); !given.empty()) return pieces(given);
    if (const auto given = inputs(tensor, 0); !given.empty()) return pieces(given);
  }
  return {integers(attributes), kAbsent};
}

PaddleIntegers PaddleLowering::pieces(const std::vector<VariableId>& variables) {
  std::vector<std::int64_t> numbers;
  bool is_known = true;
  for (const VariableId id : variables) {
    const Value* value = content(id);
    is_known = is_known && value != nullptr && value->reals.empty();
    if (is_known) numbers.insert(numbers.end(), value->integers.begin(), value->integers.end());
  }
  if (is_known) return {std::move(numbers), kAbsent};
  if (variables.size() == 1) return {std::nullopt, variables.front()};
  std::vector<VariableId> parts;  // some have no dimension, some have one
  for (const VariableId id : variables) {
    parts.push_back(make(OperatorId::reshape, {id}, attributes_of({{"shape", std::vector<std::int64_t>{-1}}})));
  }
  return {std::nullopt, make(OperatorId::concat, parts, attributes_of({{"axis", std::int64_t{0}}}))};
}

const Value* PaddleLowering::content(VariableId id) const { return id == kAbsent ? nullptr : variable(id).value.get(); }

std::int64_t PaddleLowering::rank(VariableId id) const {
  return id != kAbsent && variable(id).has_shape ? static_cast<std::int64_t>(variable(id).dimensions.size()) : -1;
}

std::int64_t PaddleLowering::declared_size(VariableId id, std::int64_t axis) const {
  const std::int64_t count = rank(id);
  if (axis < 0) axis += count;
  return axis >= 0 && axis < count ? variable(id).dimensions[axis].size : kUnknownSize;
}

bool PaddleLowering::is_channels_last() const {
  const std::string format = text({"data_format", "data_layout"}, "NCHW");
  return format == "NHWC" || format == "NDHWC" || format == "NLC" || format == "NWC";
}

VariableId PaddleLowering::temporary(DType dtype) {
  return assembly_.result(concat(op_.node, "/value_", temporaries_++), dtype);
}

VariableId PaddleLowering::integers_constant(const std::vector<std::int64_t>& values) {
  return assembly_.integers(concat(op_.node, "/constant_", temporaries_++), values);
}

VariableId PaddleLowering::scalar_like(VariableId id, double value) {
  DType dtype = variable(id).dtype;
  constexpr double kLargestExact = 9007199254740992.0;  // 2^53
  const bool is_whole = std::abs(value) <= kLargestExact && value == std::floor(value);
  if (dtype == DType::undefined || (!dtype_row(dtype).is_floating && !is_whole)) dtype = DType::float32;
  return assembly_.scalar(concat(op_.node, "/constant_", temporaries_++), dtype, value);
}

void PaddleLowering::emit(OperatorId op, std::vector<VariableId> inputs, std::vector<VariableId> outputs,
                          Attributes attributes) {
  while (!inputs.empty() && inputs.back() == kAbsent) inputs.pop_back();
  assembly_.append_part({.op = op,
                         .source_operator = op_.name,
                         .name = part_name(),
                         .inputs = std::move(inputs),
                         .outputs = std::move(outputs),
                         .attributes = std::move(attributes)});
}

VariableId PaddleLowering::make(OperatorId op, std::vector<VariableId> inputs, Attributes attributes) {
  const VariableId result = temporary();
  emit(op, std::move(inputs), {result}, std::move(attributes));
  return result;
}

namespace {

bool is_none(std::string_view activation) {
  return activation.empty() || activation == "identity" || activation == "none" || activation == "linear";
}

}  // namespace

VariableId PaddleLowering::before(std::string_view activation, VariableId output) {
  return is_none(activation) ? output : temporary();
}

void PaddleLowering::finish(VariableId value, std::string_view activation, VariableId output) {
  if (is_none(activation)) return;
  struct ActivationRow {
    std::string_view name;
    OperatorId op;
  };
  constexpr ActivationRow kActivations[] = {
      {"relu", OperatorId::relu},
      {"relu6", OperatorId::clip},
      {"gelu", OperatorId::gelu},
      {"tanh", OperatorId::tanh},
      {"sigmoid", OperatorId::sigmoid},
      {"swish", OperatorId::silu},
      {"silu", OperatorId::silu},
      {"leaky_relu", OperatorId::leaky_relu},
      {"hard_swish", OperatorId::hard_swish},
      {"hardswish", OperatorId::hard_swish},
      {"hard_sigmoid", OperatorId::hard_sigmoid},
      {"mish", OperatorId::mish},
  };
  const auto* found = std::find_if(std::begin(kActivations), std::end(kActivations),
                                   [&](const ActivationRow& row) { return row.name == activation; });
  if (found == std::end(kActivations)) {
    std::vector<std::string> valid;
    for (const ActivationRow& row : kActivations) valid.emplace_back(row.name);
    fail(unknown_name_message("activation", activation, valid));
  }
  Attributes attributes;
  if (activation == "relu6") attributes = attributes_of({{"min", 0.0}, {"max", 6.0}});
  emit(found->op, {value}, {output}, std::move(attributes));
}

void PaddleLowering::emit_unknown() {
  std::vector<VariableId> inputs;
  std::vector<VariableId> outputs;
  bool has_batch = false;
  for (const PaddleSlot& slot : op_.inputs) {
    for (const VariableId id : slot.variables) {
      inputs.push_back(id);
      has_batch = has_batch || (rank(id) > 0 && declared_size(id, 0) == kUnknownSize);
    }
  }
  for (const PaddleSlot& slot : op_.outputs) {
    for (const VariableId id : slot.variables) {
      outputs.push_back(id);
      if (id == kAbsent || !has_batch) continue;
      Variable& result = assembly_.variable(id);
      // An open first dimension that the inputs have too: the batch, in every file that was looked at.
      if (!result.dimensions.empty() && result.dimensions.front().size == kUnknownSize) {
        result.dimensions.front().symbol = "batch";
      }
    }
  }
  emit(OperatorId::unknown, std::move(inputs), std::move(outputs), op_.attributes);
}

void PaddleLowering::fail(const std::string& why) const {
  assembly_.source().fail(concat("operator '", op_.node, "' (", op_.name, "): ", why));
}

std::string PaddleLowering::part_name() {
  const int part = parts_++;
  return part == 0 ? op_.node : concat(op_.node, "/", part);
}

void place(const PaddleIntegers& integers, std::string name, std::size_t index, std::vector<VariableId>& inputs,
           Attributes& attributes) {
  if (integers.numbers) {
    attributes.set(std::move(name), *integers.numbers);
  } else if (integers.variable != kAbsent) {
    if (inputs.size() <= index) inputs.resize(index + 1, kAbsent);
    inputs[index] = integers.variable;
  }
}

}  // namespace latpred::readers
