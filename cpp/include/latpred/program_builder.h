#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "latpred/program.h"

namespace latpred {

// Makes a Program by hand, for tests and for networks that exist as a recipe only:
//
//   ProgramBuilder net;
//   auto x = net.input("data", {3, 224, 224});
//   auto w = net.parameter({64, 3, 7, 7});
//   auto y = net.apply(OperatorId::conv, {x, w}, {{"strides", Shape{2, 2}}, {"pads", Shape{3, 3, 3, 3}}});
//   net.output(net.apply(OperatorId::relu, {y}));
//   Program program = net.build();
class ProgramBuilder {
 public:
  using Settings = std::vector<std::pair<std::string, AttributeValue>>;

  // An input whose first dimension is the batch; `sizes` are the others.
  VariableId input(std::string_view name, const Shape& sizes, DType dtype = DType::float32);
  // A stored weight; its content is unknown, as it is in a file that we read.
  VariableId parameter(const Shape& shape, DType dtype = DType::float32);
  // A small stored tensor of integers, for the inputs that are shapes, axes or indices. Empty `shape` and one value
  // make a scalar.
  VariableId constant(const std::vector<std::int64_t>& integers, const Shape& shape);
  VariableId constant(const std::vector<std::int64_t>& integers);  // [integers.size()]

  // The single output of a new statement.
  VariableId apply(OperatorId op, const std::vector<VariableId>& inputs, const Settings& settings = {});
  std::vector<VariableId> apply_many(OperatorId op, const std::vector<VariableId>& inputs, const Settings& settings,
                                     std::size_t num_outputs);
  void output(VariableId variable);

  [[nodiscard]] Program build() const { return program_; }

 private:
  VariableId add(Variable variable);

  Program program_;
};

}  // namespace latpred
