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

// The asked batch where it differs from the one that the file was saved with.
struct Rebatch {
  std::int64_t saved = 1;
  std::int64_t asked = 1;
  bool is_static = false;  // the file has numbers, no symbol, for its batch: constants may bake it in
  std::string input;       // the first input that carries the batch, for messages
};

// One statement as a shape rule sees it: inputs are known, outputs are to be set. An operator's parameters (axes, pads,
// repeats, ...) may stand in an attribute or in an input, whichever the file's version uses: `parameter` takes both.
class RuleContext {
 public:
  // `inputs` and `outputs` have an entry for each of the statement's (nullptr: absent). `saved_*` are empty or alike.
  RuleContext(const Statement& statement, std::vector<const Known*> inputs, std::vector<const Shape*> saved_inputs = {},
              std::vector<const Shape*> saved_outputs = {}, const Rebatch* rebatch = nullptr);

  [[nodiscard]] const Statement& statement() const { return statement_; }
  [[nodiscard]] const Attributes& attributes() const { return statement_.attributes; }

  [[nodiscard]] std::size_t num_inputs() const { return inputs_.size(); }
  [[nodiscard]] std::size_t num_outputs() const { return statement_.outputs.size(); }
  [[nodiscard]] bool has_input(std::size_t index) const { return index < inputs_.size() && inputs_[index] != nullptr; }
  [[nodiscard]] bool has_output(std::size_t index) const {
    return index < statement_.outputs.size() && statement_.outputs[index] != kAbsent;
  }
  [[nodiscard]] const Shape& shape(std::size_t index) const;  // throws where the input is absent
  [[nodiscard]] std::int64_t rank(std::size_t index) const;
  [[nodiscard]] DType dtype(std::size_t index) const;
  [[nodiscard]] const Value* value(std::size_t index) const;  // nullptr where absent or the content is unknown

  // Integers of attribute `name`, else of input `index`, else nothing. Throws ShapeError where the input is there but
  // its content is unknown. An attribute that is one number counts as a list of one.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> parameter(std::string_view name, std::size_t index) const;
  // The same for floating-point content (Resize scales); integers are converted.
  [[nodiscard]] std::optional<std::vector<double>> real_parameter(std::string_view name, std::size_t index) const;
  // `axis` in [-rank, rank) made non-negative; throws ShapeError outside.
  [[nodiscard]] std::int64_t normalized_axis(std::int64_t axis, std::int64_t rank) const;

  // Does nothing where the output is absent. Refuses negative sizes, more than kMaxRank dimensions and more than 2^62
  // elements.
  void set_output(std::size_t index, DType dtype, Shape shape);
  // The content of output `index`, which has been set; for results with at most kMaxFoldedElements elements. The value
  // takes the output's type and shape.
  void set_value(std::size_t index, Value value);

  // Where the file was saved at another batch than the one asked for: the shape that this output had then, as derived
  // by a first walk of the program at the saved batch, and that input's shape then. nullptr in the first walk and where
  // both batches are equal. Rules with a baked-in target (reshape, expand) use them to rescale it.
  [[nodiscard]] const Shape* saved_input_shape(std::size_t index) const;
  [[nodiscard]] const Shape* saved_output_shape(std::size_t index) const;
  [[nodiscard]] const Rebatch* rebatch() const { return rebatch_; }

  // For a size that depends on the data: the rule sets an upper bound and says so; it becomes a warning of the graph.
  void warn(std::string message);

  [[noreturn]] void fail(const std::string& message) const;  // ShapeError; the engine adds node and operator

  [[nodiscard]] std::vector<Known>& outputs() { return outputs_; }  // for the engine
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  const Statement& statement_;
  std::vector<const Known*> inputs_;
  std::vector<const Shape*> saved_inputs_;
  std::vector<const Shape*> saved_outputs_;
  const Rebatch* rebatch_;
  std::vector<Known> outputs_;
  std::vector<std::string> warnings_;
};

// More dimensions than any framework has: a guard against hostile files.
inline constexpr std::size_t kMaxRank = 64;

// The product of the sizes; throws ShapeError above 2^62 elements.
[[nodiscard]] std::int64_t element_count(const Shape& shape);

using Rule = void (*)(RuleContext&);

struct RuleRow {
  OperatorId op;
  Rule rule;
};

// One table for each family file; rules.cpp lists them and looks a rule up.
[[nodiscard]] Rule find_rule(OperatorId op);  // nullptr where there is none

}  // namespace latpred::shapes
