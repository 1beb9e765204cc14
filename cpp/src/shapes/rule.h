#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "latpred/graph.h"
#include "latpred/operators.h"
#include "latpred/program.h"

namespace latpred::shapes {

// What the engine knows of one variable while it walks the program.
struct Known {
  DType dtype = DType::undefined;
  bool has_shape = false;
  Shape shape;
  std::shared_ptr<const Value> value;  // content, for small tensors whose content is known
};

// One statement as a shape rule sees it: inputs are known, outputs are to be set. An operator's parameters (axes, pads,
// repeats, ...) may stand in an attribute or in an input, whichever the file's version uses: `parameter` takes both.
class RuleContext {
 public:
  [[nodiscard]] const Statement& statement() const;
  [[nodiscard]] const Attributes& attributes() const;

  [[nodiscard]] std::size_t num_inputs() const;
  [[nodiscard]] std::size_t num_outputs() const;
  [[nodiscard]] bool has_input(std::size_t index) const;
  [[nodiscard]] bool has_output(std::size_t index) const;
  [[nodiscard]] const Shape& shape(std::size_t index) const;  // throws where the input is absent
  [[nodiscard]] std::int64_t rank(std::size_t index) const;
  [[nodiscard]] DType dtype(std::size_t index) const;
  [[nodiscard]] const Value* value(std::size_t index) const;  // nullptr where the content is unknown

  // Integers of attribute `name`, else of input `index`, else nothing. Throws ShapeError where the input is there but
  // its content is unknown.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> parameter(std::string_view name, std::size_t index) const;
  // The same for floating-point content (Resize scales); integers are converted.
  [[nodiscard]] std::optional<std::vector<double>> real_parameter(std::string_view name, std::size_t index) const;
  // `axis` in [-rank, rank) made non-negative; throws ShapeError outside.
  [[nodiscard]] std::int64_t normalized_axis(std::int64_t axis, std::int64_t rank) const;

  void set_output(std::size_t index, DType dtype, Shape shape);
  // The content of output `index`, which has been set; for results with at most kMaxFoldedElements elements.
  void set_value(std::size_t index, Value value);

  // Where the file was saved at another batch than the one asked for: the shape that this output had then, as derived
  // by a first walk of the program at the saved batch, and that input's shape then. nullptr in the first walk and where
  // both batches are equal. Rules with a baked-in target (reshape, expand) use them to rescale it.
  [[nodiscard]] const Shape* saved_input_shape(std::size_t index) const;
  [[nodiscard]] const Shape* saved_output_shape(std::size_t index) const;

  [[noreturn]] void fail(const std::string& message) const;  // ShapeError; the engine adds node and operator
};

using Rule = void (*)(RuleContext&);

struct RuleRow {
  OperatorId op;
  Rule rule;
};

// One table for each family file; rules.cpp lists them and looks a rule up.
[[nodiscard]] Rule find_rule(OperatorId op);  // nullptr where there is none

}  // namespace latpred::shapes
