#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "readers/torch/aten.h"

namespace latpred::readers {

struct AtenRow;

// One call as the functions of the aten table see it: arguments by name with the schema's defaults filled in, and the
// statements that stand for it. The last statement carries the node's name and counts as the file's node; those before
// it are its parts.
class AtenCall {
 public:
  AtenCall(Assembly& assembly, const AtenNode& node, const AtenRow& row);

  [[nodiscard]] const AtenNode& node() const { return node_; }
  [[nodiscard]] const AtenRow& row() const { return row_; }
  [[nodiscard]] Assembly& assembly() const { return assembly_; }

  // Arguments. kAbsent, nothing or the default of aten_defaults.cpp where one is left out or None; ModelFileError where
  // it has another type than asked for.
  [[nodiscard]] bool has(std::string_view name) const;
  [[nodiscard]] VariableId tensor(std::string_view name) const;
  [[nodiscard]] VariableId required(std::string_view name) const;
  [[nodiscard]] std::vector<VariableId> tensors(std::string_view name) const;
  [[nodiscard]] std::vector<VariableId> all_tensors() const;  // of every argument, in order
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  [[nodiscard]] std::optional<std::int64_t> optional_integer(std::string_view name) const;
  [[nodiscard]] bool flag(std::string_view name) const;
  [[nodiscard]] double real(std::string_view name) const;
  [[nodiscard]] std::string text(std::string_view name) const;
  // A list; one number where a number stands for it.
  [[nodiscard]] AtenIntegers list(std::string_view name) const;
  // The same of numbers only; one number repeated `count` times.
  [[nodiscard]] Shape numbers(std::string_view name, std::size_t count = 0) const;
  [[nodiscard]] std::vector<double> reals(std::string_view name) const;
  // A tensor, or a number as a scalar constant of `dtype`.
  [[nodiscard]] VariableId operand(std::string_view name, DType dtype) const;

  // What the file declares.
  [[nodiscard]] std::size_t rank(VariableId variable) const;
  [[nodiscard]] std::int64_t size(VariableId variable, std::size_t axis) const;  // kUnknownSize where it is symbolic
  [[nodiscard]] DType dtype(VariableId variable) const;
  [[nodiscard]] std::size_t axis(std::string_view name, std::size_t rank) const;  // made non-negative
  [[nodiscard]] VariableId output(std::size_t index = 0) const;
  [[nodiscard]] std::vector<VariableId> outputs(std::size_t at_most) const;

  // Constants.
  [[nodiscard]] VariableId integers(const std::vector<std::int64_t>& values) const;
  [[nodiscard]] VariableId scalar(DType dtype, double value) const;
  // Sets attribute `name`, or where some number is symbolic appends a tensor [count] of them as input `index`.
  void set_list(Statement& statement, std::string_view name, const AtenIntegers& values, std::size_t index) const;

  // Statements.
  [[nodiscard]] Statement statement(OperatorId op, std::vector<VariableId> inputs) const;  // gives the first output
  [[nodiscard]] Statement statement(OperatorId op, std::vector<VariableId> inputs,
                                    std::vector<VariableId> outputs) const;
  void append(Statement statement) const;
  // A result between two parts of one node.
  [[nodiscard]] VariableId between(DType dtype) const;
  VariableId part(OperatorId op, std::vector<VariableId> inputs, DType dtype, Attributes attributes = {}) const;
  // Arithmetic on sizes that no kernel does.
  VariableId host(OperatorId op, std::vector<VariableId> inputs, Attributes attributes = {}) const;
  [[nodiscard]] VariableId shape_of(VariableId variable) const;
  // [count] int64, computed on the host.
  [[nodiscard]] VariableId size_list(const AtenIntegers& values) const;

  [[noreturn]] void fail(const std::string& message) const;

 private:
  [[nodiscard]] const AtenValue* value(std::string_view name) const;

  Assembly& assembly_;
  const AtenNode& node_;
  const AtenRow& row_;
};

[[nodiscard]] Attributes attributes_of(std::vector<std::pair<std::string, AttributeValue>> items);

}  // namespace latpred::readers
