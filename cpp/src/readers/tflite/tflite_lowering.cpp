#include "readers/tflite/tflite_lowering.h"

#include <algorithm>
#include <array>
#include <utility>

#include "latpred/dtype.h"
#include "latpred/text.h"

namespace latpred::readers {
namespace {

constexpr double kMinusOne = -1;
constexpr double kOne = 1;
constexpr double kSix = 6;
constexpr double kZero = 0;

// ActivationFunctionType of the schema.
struct ActivationRow {
  std::int8_t code;
  std::string_view name;
  OperatorId op;
  std::optional<std::pair<double, double>> bounds;
};
const ActivationRow kActivations[] = {
    {1, "RELU", OperatorId::relu, std::nullopt},
    {2, "RELU_N1_TO_1", OperatorId::clip, std::pair(kMinusOne, kOne)},
    {3, "RELU6", OperatorId::clip, std::pair(kZero, kSix)},
    {4, "TANH", OperatorId::tanh, std::nullopt},
    {5, "SIGN_BIT", OperatorId::less, std::nullopt},
};

}  // namespace

TfliteNode::TfliteNode(TfliteLowering& lowering, TfliteScope& scope, const FlatTable& table, std::string name,
                       std::string kind, int activation_field)
    : lowering_(lowering),
      scope_(scope),
      name_(std::move(name)),
      kind_(std::move(kind)),
      inputs_(table.numbers<std::int32_t>(kOperatorInputs)),
      outputs_(table.numbers<std::int32_t>(kOperatorOutputs)),
      options_(table.table(kOperatorOptions)),
      activation_field_(activation_field) {
  if (!options_) options_ = table.table(kOperatorOptions2);
}

Assembly& TfliteNode::assembly() const { return lowering_.assembly(); }

void TfliteNode::fail(const std::string& what) const {
  lowering_.source().fail(concat("operator '", name_, "' (", kind_, ") ", what));
}

VariableId TfliteNode::input(std::size_t index) const {
  if (!has_input(index)) fail(concat("lacks its input ", index));
  return lowering_.variable_of(scope_, inputs_[index]);
}

VariableId TfliteNode::optional(std::size_t index) const { return has_input(index) ? input(index) : kAbsent; }

std::vector<VariableId> TfliteNode::inputs(std::size_t first) const {
  std::vector<VariableId> variables;
  for (std::size_t i = first; i < inputs_.size(); ++i) variables.push_back(optional(i));
  return variables;
}

FlatTable TfliteNode::tensor(std::size_t input) const {
  if (!has_input(input)) fail(concat("lacks its input ", input));
  return lowering_.tensor_of(scope_, inputs_[input]);
}

std::optional<TfliteMaker> TfliteNode::maker(std::size_t input) const {
  return has_input(input) ? lowering_.maker_of(scope_, inputs_[input]) : std::nullopt;
}

FlatTable TfliteNode::output_tensor(std::size_t output) const {
  if (output >= outputs_.size()) fail(concat("lacks its output ", output));
  return lowering_.tensor_of(scope_, outputs_[output]);
}

std::optional<Shape> TfliteNode::shape(std::size_t index) const {
  return tflite_shape(lowering_.source(), tensor(index));
}

std::optional<Shape> TfliteNode::output_shape(std::size_t index) const {
  return tflite_shape(lowering_.source(), output_tensor(index));
}

std::optional<std::vector<std::int64_t>> TfliteNode::integers(std::size_t index) const {
  if (!has_input(index)) return std::nullopt;
  const auto value = lowering_.value_of(scope_, inputs_[index]);
  if (value == nullptr || !value->reals.empty()) return std::nullopt;
  return value->integers;
}

DType TfliteNode::dtype(std::size_t index) const { return tflite_dtype(lowering_.source(), tensor(index)); }

DType TfliteNode::output_dtype(std::size_t index) const {
  return tflite_dtype(lowering_.source(), output_tensor(index));
}

VariableId TfliteNode::output(std::size_t index) const {
  if (index >= outputs_.size()) fail(concat("lacks its output ", index));
  return outputs_[index] < 0 ? kAbsent : lowering_.variable_of(scope_, outputs_[index]);
}

VariableId TfliteNode::number(std::int64_t value) {
  return assembly().scalar(concat(name_, "/number"), DType::int32, static_cast<double>(value));
}

VariableId TfliteNode::numbers(const std::vector<std::int64_t>& values) {
  return assembly().integers(concat(name_, "/numbers"), values);
}

void TfliteNode::append(OperatorId op, std::vector<VariableId> inputs, std::vector<VariableId> outputs,
                        const Settings& settings, std::vector<Block> bodies) {
  Statement statement{.op = op,
                      .source_operator = kind_,
                      .name = num_statements_ == 0 ? name_ : concat(name_, "/", num_statements_),
                      .inputs = std::move(inputs),
                      .outputs = std::move(outputs),
                      .attributes = {},
                      .bodies = std::move(bodies)};
  for (const auto& [name, value] : settings) statement.attributes.set(name, value);
  if (num_statements_++ == 0) {
    assembly().append(std::move(statement));
  } else {
    assembly().append_part(std::move(statement));
  }
}

VariableId TfliteNode::part(OperatorId op, std::vector<VariableId> inputs, const Settings& settings) {
  const VariableId made = assembly().result(concat(name_, "/part_", num_statements_));
  append(op, std::move(inputs), {made}, settings);
  return made;
}

void TfliteNode::finish(OperatorId op, std::vector<VariableId> inputs, const Settings& settings) {
  const auto activation = activation_field_ < 0 ? std::int8_t{0} : option<std::int8_t>(activation_field_, 0);
  if (activation == 0) {
    std::vector<VariableId> outputs;
    for (std::size_t i = 0; i < outputs_.size(); ++i) outputs.push_back(output(i));
    append(op, std::move(inputs), std::move(outputs), settings);
    return;
  }
  const VariableId before = part(op, std::move(inputs), settings);
  const auto* const row = std::find_if(std::begin(kActivations), std::end(kActivations),
                                       [&](const ActivationRow& candidate) { return candidate.code == activation; });
  if (row == std::end(kActivations)) fail(concat("has the unknown activation ", static_cast<int>(activation)));
  Settings bounds;
  if (row->bounds) bounds = {{"min", row->bounds->first}, {"max", row->bounds->second}};
  std::vector<VariableId> operands{before};
  if (row->op == OperatorId::less) operands.push_back(number(0));
  append(row->op, std::move(operands), {output(0)}, bounds);
}

void TfliteNode::finish_output(std::size_t index, OperatorId op, std::vector<VariableId> inputs,
                               const Settings& settings) {
  append(op, std::move(inputs), {output(index)}, settings);
}

void TfliteNode::finish_as(OperatorId op, std::vector<VariableId> inputs, const std::vector<int>& outputs,
                           const Settings& settings) {
  std::vector<VariableId> made;
  for (const int index : outputs) {
    made.push_back(index < 0 ? kAbsent : output(static_cast<std::size_t>(index)));
  }
  append(op, std::move(inputs), std::move(made), settings);
}

void TfliteNode::finish_with_bodies(OperatorId op, std::vector<VariableId> inputs, std::vector<Block> bodies) {
  std::vector<VariableId> outputs;
  for (std::size_t i = 0; i < outputs_.size(); ++i) outputs.push_back(output(i));
  append(op, std::move(inputs), std::move(outputs), {}, std::move(bodies));
}

void TfliteNode::bind_output(std::size_t index, VariableId variable) {
  if (index >= outputs_.size()) fail(concat("lacks its output ", index));
  if (outputs_[index] < 0) return;
  (void)lowering_.tensor_of(scope_, outputs_[index]);
  scope_.variables[static_cast<std::size_t>(outputs_[index])] = variable;
}

void TfliteNode::count() {
  SourceInfo& info = assembly().program().source;
  ++info.num_nodes;
  ++info.operator_counts[kind_];
}

void lower_as_declared(TfliteNode& node, OperatorId op) {
  std::vector<VariableId> inputs = node.inputs();
  node.finish(op, std::move(inputs));
}

void lower_plain(TfliteNode& node, OperatorId op) {
  // What is left out at the end is no input.
  std::vector<VariableId> inputs = node.inputs();
  while (!inputs.empty() && inputs.back() == kAbsent) inputs.pop_back();
  node.finish(op, std::move(inputs));
}

const TfliteOperatorRow* find_tflite_operator(int code) {
  constexpr std::size_t kCodes = 256;  // BuiltinOperator ends at 209 today
  static const std::array<const TfliteOperatorRow*, kCodes> by_code = [] {
    std::array<const TfliteOperatorRow*, kCodes> table{};
    for (const auto* rows :
         {&tflite_layers(), &tflite_arithmetic(), &tflite_views(), &tflite_slices(), &tflite_control()}) {
      for (const TfliteOperatorRow& row : *rows) table.at(static_cast<std::size_t>(row.code)) = &row;
    }
    return table;
  }();
  return code >= 0 && static_cast<std::size_t>(code) < kCodes ? by_code[static_cast<std::size_t>(code)] : nullptr;
}

std::string tflite_operator_name(int code) {
  const TfliteOperatorRow* const row = find_tflite_operator(code);
  return row != nullptr ? std::string(row->name) : concat("BUILTIN_", code);
}

}  // namespace latpred::readers
