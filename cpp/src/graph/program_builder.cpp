#include "latpred/program_builder.h"

#include <utility>

#include "latpred/text.h"

namespace latpred {

VariableId ProgramBuilder::add(Variable variable) {
  program_.variables.push_back(std::move(variable));
  return static_cast<VariableId>(program_.variables.size() - 1);
}

VariableId ProgramBuilder::input(std::string_view name, const Shape& sizes, DType dtype) {
  Variable variable{.name = std::string(name), .dtype = dtype, .has_shape = true};
  variable.dimensions.push_back({kUnknownSize, "batch"});
  for (const std::int64_t size : sizes) variable.dimensions.push_back({size, ""});
  const VariableId id = add(std::move(variable));
  program_.main.inputs.push_back(id);
  return id;
}

VariableId ProgramBuilder::parameter(const Shape& shape, DType dtype) {
  Variable variable{
      .name = concat("w", program_.variables.size()), .dtype = dtype, .is_stored = true, .has_shape = true};
  for (const std::int64_t size : shape) variable.dimensions.push_back({size, ""});
  return add(std::move(variable));
}

VariableId ProgramBuilder::constant(const std::vector<std::int64_t>& integers, const Shape& shape) {
  Variable variable{
      .name = concat("c", program_.variables.size()), .dtype = DType::int64, .is_stored = true, .has_shape = true};
  for (const std::int64_t size : shape) variable.dimensions.push_back({size, ""});
  variable.value = std::make_shared<Value>(Value{.dtype = DType::int64, .shape = shape, .integers = integers});
  return add(std::move(variable));
}

VariableId ProgramBuilder::constant(const std::vector<std::int64_t>& integers) {
  return constant(integers, {static_cast<std::int64_t>(integers.size())});
}

VariableId ProgramBuilder::apply(OperatorId op, const std::vector<VariableId>& inputs, const Settings& settings) {
  return apply_many(op, inputs, settings, 1).front();
}

std::vector<VariableId> ProgramBuilder::apply_many(OperatorId op, const std::vector<VariableId>& inputs,
                                                   const Settings& settings, std::size_t num_outputs) {
  Statement statement{.op = op, .inputs = inputs};
  for (const auto& [name, value] : settings) statement.attributes.set(name, value);
  for (std::size_t i = 0; i < num_outputs; ++i) {
    statement.outputs.push_back(add({.name = concat("t", program_.variables.size())}));
  }
  statement.name = concat("n", program_.main.statements.size());
  program_.main.statements.push_back(statement);
  return statement.outputs;
}

void ProgramBuilder::output(VariableId variable) { program_.main.outputs.push_back(variable); }

}  // namespace latpred
