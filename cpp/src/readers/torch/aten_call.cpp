#include "readers/torch/aten_call.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "latpred/error.h"
#include "latpred/operators.h"
#include "latpred/text.h"
#include "readers/torch/aten_defaults.h"
#include "readers/torch/aten_operators.h"

namespace latpred::readers {
namespace {

// The default as an argument holds it; one number stands for a list of it.
AtenValue as_value(const AtenDefaultValue& value) {
  return std::visit(
      [](const auto& content) -> AtenValue {
        using Content = std::decay_t<decltype(content)>;
        if constexpr (std::is_same_v<Content, AtenEmptyList>) {
          return AtenIntegers();
        } else if constexpr (std::is_same_v<Content, AtenLastTwo>) {
          return AtenIntegers{{.number = -2}, {.number = -1}};
        } else if constexpr (std::is_same_v<Content, std::int64_t>) {
          return AtenInteger{.number = content};
        } else {
          return content;
        }
      },
      value);
}

}  // namespace

Attributes attributes_of(std::vector<std::pair<std::string, AttributeValue>> items) {
  Attributes attributes;
  for (auto& [name, value] : items) attributes.set(std::move(name), std::move(value));
  return attributes;
}

AtenCall::AtenCall(Assembly& assembly, const AtenNode& node, const AtenRow& row)
    : assembly_(assembly), node_(node), row_(row) {}

void AtenCall::fail(const std::string& message) const {
  assembly_.source().fail(concat("node '", node_.name, "' (", node_.target, "): ", message));
}

const AtenValue* AtenCall::value(std::string_view name) const {
  const AtenValue* found = node_.find(name);
  return found != nullptr && !std::holds_alternative<std::monostate>(*found) ? found : nullptr;
}

bool AtenCall::has(std::string_view name) const { return value(name) != nullptr; }

VariableId AtenCall::tensor(std::string_view name) const {
  const AtenValue* found = value(name);
  if (found == nullptr) return kAbsent;
  if (const auto* one = std::get_if<AtenTensor>(found)) return assembly_.current(one->variable);
  if (const auto* integer = std::get_if<AtenInteger>(found); integer != nullptr && !integer->is_number()) {
    return integer->variable;
  }
  fail(concat("its '", name, "' must be a tensor"));
}

VariableId AtenCall::required(std::string_view name) const {
  const VariableId found = tensor(name);
  if (found == kAbsent) fail(concat("has no '", name, "'"));
  return found;
}

std::vector<VariableId> AtenCall::tensors(std::string_view name) const {
  const AtenValue* found = value(name);
  if (found == nullptr) return {};
  if (std::holds_alternative<AtenTensor>(*found)) return {tensor(name)};
  if (const auto* list = std::get_if<AtenIntegers>(found); list != nullptr && list->empty()) return {};
  const auto* list = std::get_if<AtenTensors>(found);
  if (list == nullptr) fail(concat("its '", name, "' must be a list of tensors"));
  std::vector<VariableId> result;
  for (const AtenTensor& one : *list) result.push_back(assembly_.current(one.variable));
  return result;
}

std::vector<VariableId> AtenCall::all_tensors() const {
  std::vector<VariableId> result;
  for (const AtenArgument& argument : node_.arguments) {
    if (std::holds_alternative<AtenTensor>(argument.value) || std::holds_alternative<AtenTensors>(argument.value)) {
      for (const VariableId one : tensors(argument.name)) {
        if (one != kAbsent) result.push_back(one);
      }
    }
  }
  return result;
}

std::optional<std::int64_t> AtenCall::optional_integer(std::string_view name) const {
  const AtenValue* given = node_.find(name);
  const AtenDefaultValue* by_default = given == nullptr ? aten_default(node_.target, name) : nullptr;
  if (given == nullptr && by_default == nullptr) return std::nullopt;
  const AtenValue found = given != nullptr ? *given : as_value(*by_default);
  if (std::holds_alternative<std::monostate>(found)) return std::nullopt;
  if (const auto* truth = std::get_if<bool>(&found)) return *truth ? 1 : 0;
  if (const auto* number = std::get_if<AtenInteger>(&found); number != nullptr && number->is_number()) {
    return number->number;
  }
  if (const auto* list = std::get_if<AtenIntegers>(&found);
      list != nullptr && list->size() == 1 && list->front().is_number()) {
    return list->front().number;
  }
  fail(concat("its '", name, "' must be an integer"));
}

std::int64_t AtenCall::integer(std::string_view name) const {
  const auto found = optional_integer(name);
  if (!found) fail(concat("has no '", name, "'"));
  return *found;
}

bool AtenCall::flag(std::string_view name) const { return optional_integer(name).value_or(0) != 0; }

double AtenCall::real(std::string_view name) const {
  const AtenValue* given = node_.find(name);
  const AtenDefaultValue* by_default = given == nullptr ? aten_default(node_.target, name) : nullptr;
  if (given == nullptr && by_default == nullptr) fail(concat("has no '", name, "'"));
  const AtenValue found = given != nullptr ? *given : as_value(*by_default);
  if (const auto* number = std::get_if<double>(&found)) return *number;
  return static_cast<double>(integer(name));
}

std::string AtenCall::text(std::string_view name) const {
  const AtenValue* given = node_.find(name);
  const AtenDefaultValue* by_default = given == nullptr ? aten_default(node_.target, name) : nullptr;
  if (given == nullptr && by_default == nullptr) return {};
  const AtenValue found = given != nullptr ? *given : as_value(*by_default);
  if (std::holds_alternative<std::monostate>(found)) return {};
  if (const auto* word = std::get_if<std::string_view>(&found)) return std::string(*word);
  fail(concat("its '", name, "' must be a word"));
}

AtenIntegers AtenCall::list(std::string_view name) const {
  const AtenValue* given = node_.find(name);
  const AtenDefaultValue* by_default = given == nullptr ? aten_default(node_.target, name) : nullptr;
  if (given == nullptr && by_default == nullptr) return {};
  const AtenValue found = given != nullptr ? *given : as_value(*by_default);
  if (std::holds_alternative<std::monostate>(found)) return {};
  if (const auto* integers = std::get_if<AtenIntegers>(&found)) return *integers;
  if (const auto* integer = std::get_if<AtenInteger>(&found)) return {*integer};
  // An empty list says nothing of what it would hold.
  if (const auto* none = std::get_if<AtenTensors>(&found); none != nullptr && none->empty()) return {};
  fail(concat("its '", name, "' must be a list of integers"));
}

Shape AtenCall::numbers(std::string_view name, std::size_t count) const {
  Shape result;
  for (const AtenInteger& one : list(name)) {
    if (!one.is_number()) fail(concat("its '", name, "' must be numbers"));
    result.push_back(one.number);
  }
  if (result.size() == 1 && count > 1) result.assign(count, result.front());
  return result;
}

std::vector<double> AtenCall::reals(std::string_view name) const {
  const AtenValue* found = value(name);
  if (found == nullptr) return {};
  if (const auto* one = std::get_if<double>(found)) return {*one};
  if (const auto* list = std::get_if<std::vector<double>>(found)) return *list;
  const Shape whole = numbers(name);
  return {whole.begin(), whole.end()};
}

VariableId AtenCall::operand(std::string_view name, DType dtype) const {
  const AtenValue* given = node_.find(name);
  if (given != nullptr) {
    if (std::holds_alternative<AtenTensor>(*given)) return tensor(name);
    if (const auto* integer = std::get_if<AtenInteger>(given); integer != nullptr && !integer->is_number()) {
      return integer->variable;
    }
    if (std::holds_alternative<std::monostate>(*given)) return kAbsent;
  }
  return scalar(dtype, real(name));
}

std::size_t AtenCall::rank(VariableId variable) const {
  if (variable == kAbsent) fail("has no result, or an operand that is None");
  const Variable& found = assembly_.variable(variable);
  if (!found.has_shape) fail(concat("the file does not say how many dimensions '", found.name, "' has"));
  return found.dimensions.size();
}

std::int64_t AtenCall::size(VariableId variable, std::size_t axis) const {
  if (axis >= rank(variable)) fail(concat("has no dimension ", axis));
  const Dimension& dimension = assembly_.variable(variable).dimensions[axis];
  return dimension.symbol.empty() ? dimension.size : kUnknownSize;
}

DType AtenCall::dtype(VariableId variable) const {
  if (variable == kAbsent) fail("has no result, or an operand that is None");
  return assembly_.variable(variable).dtype;
}

std::size_t AtenCall::axis(std::string_view name, std::size_t rank) const {
  const std::int64_t given = integer(name);
  const auto count = static_cast<std::int64_t>(std::max<std::size_t>(rank, 1));
  if (given < -count || given >= count) fail(concat("dimension ", given, " is outside a tensor of ", rank));
  return static_cast<std::size_t>(given < 0 ? given + count : given);
}

VariableId AtenCall::output(std::size_t index) const {
  return index < node_.outputs.size() ? node_.outputs[index] : kAbsent;
}

std::vector<VariableId> AtenCall::outputs(std::size_t at_most) const {
  const std::size_t count = std::min(at_most, node_.outputs.size());
  return {node_.outputs.begin(), node_.outputs.begin() + static_cast<std::ptrdiff_t>(count)};
}

VariableId AtenCall::integers(const std::vector<std::int64_t>& values) const {
  return assembly_.integers(concat(node_.name, "/integers"), values);
}

VariableId AtenCall::scalar(DType dtype, double value) const {
  if (dtype == DType::undefined) dtype = DType::float32;
  if (!dtype_row(dtype).is_floating) {
    constexpr double kLargest = 9.2233720368547748e18;  // the largest double below 2^63
    value = std::isnan(value) ? 0 : std::clamp(value, -kLargest, kLargest);
  }
  return assembly_.scalar(concat(node_.name, "/number"), dtype, value);
}

VariableId AtenCall::size_list(const AtenIntegers& values) const {
  if (std::all_of(values.begin(), values.end(), [](const AtenInteger& one) { return one.is_number(); })) {
    std::vector<std::int64_t> numbers;
    for (const AtenInteger& one : values) numbers.push_back(one.number);
    return integers(numbers);
  }
  std::vector<VariableId> parts;
  for (const AtenInteger& one : values) {
    parts.push_back(one.is_number() ? integers({one.number})
                                    : host(OperatorId::unsqueeze, {one.variable}, attributes_of({{"axes", Shape{0}}})));
  }
  return host(OperatorId::concat, std::move(parts), attributes_of({{"axis", std::int64_t{0}}}));
}

void AtenCall::set_list(Statement& statement, std::string_view name, const AtenIntegers& values,
                        std::size_t index) const {
  if (std::all_of(values.begin(), values.end(), [](const AtenInteger& one) { return one.is_number(); })) {
    Shape numbers;
    for (const AtenInteger& one : values) numbers.push_back(one.number);
    statement.attributes.set(std::string(name), std::move(numbers));
    return;
  }
  if (statement.inputs.size() <= index) statement.inputs.resize(index + 1, kAbsent);
  statement.inputs[index] = size_list(values);
}

Statement AtenCall::statement(OperatorId op, std::vector<VariableId> inputs) const {
  return statement(op, std::move(inputs), outputs(1));
}

Statement AtenCall::statement(OperatorId op, std::vector<VariableId> inputs, std::vector<VariableId> outputs) const {
  return {.op = op,
          .source_operator = std::string(node_.target),
          .name = std::string(node_.name),
          .inputs = std::move(inputs),
          .outputs = std::move(outputs),
          .attributes = {},
          .bodies = {}};
}

void AtenCall::append(Statement statement) const { assembly_.append(std::move(statement)); }

VariableId AtenCall::between(DType dtype) const { return assembly_.result(concat(node_.name, "/part"), dtype); }

VariableId AtenCall::part(OperatorId op, std::vector<VariableId> inputs, DType dtype, Attributes attributes) const {
  const VariableId made = between(dtype);
  Statement part = statement(op, std::move(inputs), {made});
  part.name = concat(node_.name, "/", operator_row(op).name);
  part.attributes = std::move(attributes);
  assembly_.append_part(std::move(part));
  return made;
}

VariableId AtenCall::host(OperatorId op, std::vector<VariableId> inputs, Attributes attributes) const {
  attributes.set("host", std::int64_t{1});
  return part(op, std::move(inputs), DType::int64, std::move(attributes));
}

VariableId AtenCall::shape_of(VariableId variable) const { return host(OperatorId::shape, {variable}); }

}  // namespace latpred::readers
