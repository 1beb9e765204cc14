#include "readers/assembly.h"

#include <memory>
#include <utility>

#include "latpred/autocast.h"
#include "latpred/dtype.h"
#include "latpred/text.h"

namespace latpred::readers {
namespace {

std::vector<Dimension> numbers(const Shape& shape) {
  std::vector<Dimension> dimensions;
  dimensions.reserve(shape.size());
  for (const std::int64_t size : shape) dimensions.push_back({.size = size, .symbol = {}});
  return dimensions;
}

}  // namespace

Assembly::Assembly(const Source& source, const ReaderLimits& limits, std::string_view framework, std::string format)
    : source_(source), limits_(limits) {
  program_.source.path = source.path;
  program_.source.framework = framework;
  program_.source.format = std::move(format);
}

VariableId Assembly::input(std::string name, DType dtype, std::optional<std::vector<Dimension>> dimensions) {
  const VariableId id = result(std::move(name), dtype, std::move(dimensions));
  program_.main.inputs.push_back(id);
  return id;
}

VariableId Assembly::stored(std::string name, DType dtype, const Shape& shape, bool is_trained) {
  return add({.name = std::move(name),
              .dtype = dtype,
              .is_stored = true,
              .is_trained = is_trained,
              .has_shape = true,
              .dimensions = numbers(shape)});
}

VariableId Assembly::constant(std::string name, Value value) {
  const VariableId id = stored(std::move(name), value.dtype, value.shape, false);
  variable(id).value = std::make_shared<const Value>(std::move(value));
  return id;
}

VariableId Assembly::integers(std::string name, const std::vector<std::int64_t>& values) {
  return constant(
      std::move(name),
      {.dtype = DType::int64, .shape = {static_cast<std::int64_t>(values.size())}, .integers = values, .reals = {}});
}

VariableId Assembly::scalar(std::string name, DType dtype, double value) {
  Value content{.dtype = dtype, .shape = {}, .integers = {}, .reals = {}};
  if (dtype_row(dtype).is_floating) {
    content.reals = {value};
  } else {
    content.integers = {static_cast<std::int64_t>(value)};
  }
  return constant(std::move(name), std::move(content));
}

VariableId Assembly::result(std::string name, DType dtype, std::optional<std::vector<Dimension>> dimensions) {
  Variable made{.name = std::move(name), .dtype = dtype, .has_shape = dimensions.has_value()};
  if (dimensions) made.dimensions = std::move(*dimensions);
  return add(std::move(made));
}

void Assembly::output(VariableId variable) { program_.main.outputs.push_back(current(variable)); }

// A newer version may have been written too; `replace` closes no circle.
VariableId Assembly::current(VariableId variable) const {
  auto found = newer_.find(variable);
  while (found != newer_.end()) {
    variable = found->second;
    found = newer_.find(variable);
  }
  return variable;
}

void Assembly::replace(VariableId variable, VariableId newer) {
  const VariableId last = current(variable);
  if (last != current(newer)) newer_[last] = newer;
}

VariableId Assembly::base(VariableId variable) const {
  const auto found = bases_.find(variable);
  return found == bases_.end() ? variable : found->second;
}

void Assembly::set_base(VariableId view, VariableId base) {
  if (view != kAbsent && view != base) bases_[view] = base;
}

void Assembly::append(Statement statement) {
  if (bodies_.empty()) {
    ++program_.source.num_nodes;
    ++program_.source.operator_counts[statement.source_operator];
  }
  append_part(std::move(statement));
}

void Assembly::append_part(Statement statement) {
  if (++num_statements_ > limits_.max_nodes) {
    source_.fail(concat("the network has more than ", grouped_digits(limits_.max_nodes), " nodes, limit ",
                        grouped_digits(limits_.max_nodes), " (max_nodes)"));
  }
  if (!autocast_.empty()) statement.attributes.set(std::string(kAutocast), autocast_);
  Block& block = bodies_.empty() ? program_.main : bodies_.back();
  block.statements.push_back(std::move(statement));
}

void Assembly::open_body() { bodies_.emplace_back(); }

Block Assembly::close_body(std::vector<VariableId> inputs, std::vector<VariableId> outputs) {
  Block body = std::move(bodies_.back());
  bodies_.pop_back();
  body.inputs = std::move(inputs);
  body.outputs = std::move(outputs);
  return body;
}

void Assembly::warn(std::string message) { program_.warnings.push_back(std::move(message)); }

Variable& Assembly::variable(VariableId id) { return program_.variables.at(static_cast<std::size_t>(id)); }

VariableId Assembly::add(Variable variable) {
  program_.variables.push_back(std::move(variable));
  return static_cast<VariableId>(program_.variables.size() - 1);
}

}  // namespace latpred::readers
