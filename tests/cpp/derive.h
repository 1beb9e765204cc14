#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "latpred/error.h"
#include "latpred/text.h"
#include "shapes/rule.h"

namespace latpred::testing {

// One input of an operator whose shape rule is tested.
struct Operand {
  std::optional<shapes::Known> known;  // nothing: left out

  Operand(Shape shape, DType dtype = DType::float32)  // NOLINT: a shape stands for a tensor of it
      : known(shapes::Known{.dtype = dtype, .has_shape = true, .shape = std::move(shape)}) {}
  Operand(std::initializer_list<std::int64_t> shape) : Operand(Shape(shape)) {}

  static Operand absent() {
    Operand operand{Shape{}};
    operand.known.reset();
    return operand;
  }
  static Operand integers(std::vector<std::int64_t> content, Shape shape, DType dtype = DType::int64) {
    Operand operand{shape, dtype};
    operand.known->value =
        std::make_shared<Value>(Value{.dtype = dtype, .shape = std::move(shape), .integers = std::move(content)});
    return operand;
  }
  static Operand integers(const std::vector<std::int64_t>& content) {
    return integers(content, {static_cast<std::int64_t>(content.size())});
  }
  static Operand scalar(std::int64_t content) { return integers({content}, {}); }
  static Operand reals(std::vector<double> content, Shape shape) {
    Operand operand{shape, DType::float32};
    operand.known->value =
        std::make_shared<Value>(Value{.dtype = DType::float32, .shape = std::move(shape), .reals = std::move(content)});
    return operand;
  }
  static Operand reals(const std::vector<double>& content) {
    return reals(content, {static_cast<std::int64_t>(content.size())});
  }
};

using Settings = std::vector<std::pair<std::string, AttributeValue>>;

// What an operator's shape rule says.
struct Derived {
  std::vector<shapes::Known> outputs;
  std::vector<std::string> warnings;

  [[nodiscard]] const Shape& shape(std::size_t index = 0) const { return outputs.at(index).shape; }
  [[nodiscard]] DType dtype(std::size_t index = 0) const { return outputs.at(index).dtype; }
  [[nodiscard]] const Value& value(std::size_t index = 0) const {
    if (outputs.at(index).value == nullptr) throw ShapeError("the content is unknown");
    return *outputs[index].value;
  }
};

// `source`: the operator as the file names it, where that makes a difference.
inline Derived derive(OperatorId op, const std::vector<Operand>& inputs, const Settings& settings = {},
                      std::size_t num_outputs = 1, const std::string& source = "") {
  Statement statement{.op = op, .source_operator = source};
  std::vector<const shapes::Known*> known;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    statement.inputs.push_back(inputs[i].known ? static_cast<VariableId>(i) : kAbsent);
    known.push_back(inputs[i].known ? &*inputs[i].known : nullptr);
  }
  for (std::size_t i = 0; i < num_outputs; ++i) statement.outputs.push_back(static_cast<VariableId>(inputs.size() + i));
  for (const auto& [name, value] : settings) statement.attributes.set(name, value);
  const shapes::Rule rule = shapes::find_rule(op);
  if (rule == nullptr) throw ShapeError(concat("operator '", operator_row(op).name, "' has no shape rule"));
  shapes::RuleContext context(statement, known);
  rule(context);
  return {context.outputs(), context.warnings()};
}

// One row of a table of cases: what goes in, and the shapes that come out.
struct ShapeCase {
  std::string name;
  OperatorId op;
  std::vector<Operand> inputs;
  Settings settings;
  std::vector<Shape> expected;
  std::string source = {};
};

inline void check_cases(const std::vector<ShapeCase>& cases) {
  for (const ShapeCase& row : cases) {
    SCOPED_TRACE(row.name);
    try {
      const Derived derived = derive(row.op, row.inputs, row.settings, row.expected.size(), row.source);
      for (std::size_t i = 0; i < row.expected.size(); ++i)
        EXPECT_EQ(derived.shape(i), row.expected[i]) << "output " << i;
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

// A case that must be refused with a message that holds every one of `words`.
struct RefusedCase {
  std::string name;
  OperatorId op;
  std::vector<Operand> inputs;
  Settings settings;
  std::vector<std::string> words;
};

inline void check_refused(const std::vector<RefusedCase>& cases) {
  for (const RefusedCase& row : cases) {
    SCOPED_TRACE(row.name);
    try {
      (void)derive(row.op, row.inputs, row.settings);
      ADD_FAILURE() << "was accepted";
    } catch (const ShapeError& error) {
      for (const std::string& word : row.words) {
        EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << "'" << word << "' in: " << error.what();
      }
    }
  }
}

}  // namespace latpred::testing
