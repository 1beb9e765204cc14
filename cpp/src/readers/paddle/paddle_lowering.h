#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "latpred/attributes.h"
#include "readers/assembly.h"

namespace latpred::readers {

// What Paddle calls one input or output of an operator; some are lists. A .pdmodel names it ("Filter"), PIR counts.
struct PaddleSlot {
  std::string_view parameter;
  std::vector<VariableId> variables;
};

// One operator of a Paddle file, whichever its format. Booleans are integers.
struct PaddleOperator {
  std::string name;  // "conv2d": without dialect, without the underscore of forms that work in place
  std::string node;
  bool is_pir = false;
  Attributes attributes;
  std::vector<PaddleSlot> inputs;
  std::vector<PaddleSlot> outputs;
};

// Integers that an operator takes: numbers of the file, or something that is computed from sizes.
struct PaddleIntegers {
  std::optional<std::vector<std::int64_t>> numbers;
  VariableId variable = kAbsent;

  [[nodiscard]] bool is_given() const { return numbers.has_value() || variable != kAbsent; }
};

// One operator on its way into the program: its parts by their names in a .pdmodel or their positions in PIR, and the
// statements that it becomes.
class PaddleLowering {
 public:
  using Names = std::initializer_list<std::string_view>;

  PaddleLowering(Assembly& assembly, const PaddleOperator& op) : assembly_(assembly), op_(op) {}

  [[nodiscard]] const PaddleOperator& op() const { return op_; }
  [[nodiscard]] Assembly& assembly() { return assembly_; }

  // kAbsent or an empty list where it is left out.
  [[nodiscard]] std::vector<VariableId> inputs(std::string_view parameter, std::size_t position) const;
  [[nodiscard]] VariableId input(std::string_view parameter, std::size_t position) const;
  [[nodiscard]] VariableId needed(std::string_view parameter, std::size_t position) const;  // refuses its absence
  [[nodiscard]] std::vector<VariableId> outputs(std::string_view parameter, std::size_t position) const;
  [[nodiscard]] VariableId output(std::string_view parameter = "Out", std::size_t position = 0) const;

  // The first of `names` that the operator has.
  [[nodiscard]] std::int64_t integer(Names names, std::int64_t fallback) const;
  [[nodiscard]] double real(Names names, double fallback) const;
  [[nodiscard]] std::string text(Names names, std::string_view fallback) const;
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers(Names names) const;
  [[nodiscard]] std::optional<std::vector<double>> reals(Names names) const;
  [[nodiscard]] DType dtype(Names names, DType fallback) const;

  // Integers from a list of tensors with one element each, else from one tensor, else from an attribute: Paddle's own
  // order. In PIR the tensor stands at `position`.
  [[nodiscard]] PaddleIntegers parameter(Names attributes, std::string_view tensor, std::string_view list,
                                         std::size_t position);
  [[nodiscard]] PaddleIntegers pieces(const std::vector<VariableId>& variables);  // of a list of tensors
  [[nodiscard]] const Variable& variable(VariableId id) const { return assembly_.program().variables.at(id); }
  [[nodiscard]] const Value* content(VariableId id) const;
  // -1 where the file does not say it.
  [[nodiscard]] std::int64_t rank(VariableId id) const;
  [[nodiscard]] std::int64_t declared_size(VariableId id, std::int64_t axis) const;
  [[nodiscard]] bool is_channels_last() const;

  VariableId temporary(DType dtype = DType::undefined);
  VariableId integers_constant(const std::vector<std::int64_t>& values);
  VariableId scalar_like(VariableId id, double value);
  void emit(OperatorId op, std::vector<VariableId> inputs, std::vector<VariableId> outputs, Attributes attributes = {});
  // The same with one new result.
  VariableId make(OperatorId op, std::vector<VariableId> inputs, Attributes attributes = {});
  // An operator with an activation fused into it: where its result goes before that, and the activation itself.
  VariableId before(std::string_view activation, VariableId output);
  void finish(VariableId value, std::string_view activation, VariableId output);
  // Its outputs under the sizes that the file declares.
  void emit_unknown();
  [[noreturn]] void fail(const std::string& why) const;

 private:
  [[nodiscard]] std::string part_name();

  Assembly& assembly_;
  const PaddleOperator& op_;
  int parts_ = 0;
  int temporaries_ = 0;
};

// "axis" as an attribute or, where it is computed, as the input at `index` of `inputs`.
void place(const PaddleIntegers& integers, std::string name, std::size_t index, std::vector<VariableId>& inputs,
           Attributes& attributes);

inline Attributes attributes_of(std::initializer_list<std::pair<std::string, AttributeValue>> items) {
  Attributes result;
  for (const auto& [name, value] : items) result.set(name, value);
  return result;
}

inline constexpr std::int64_t kMaxAxis = 64;  // more dimensions than any framework has

// The files in which an operator has a name and parts.
enum class PaddleFormat : std::uint8_t { both, pir, program };
inline constexpr auto kBoth = PaddleFormat::both;
inline constexpr auto kPir = PaddleFormat::pir;
inline constexpr auto kProgram = PaddleFormat::program;

struct PaddleRow {
  std::string_view name;
  PaddleFormat format;
  void (*lower)(PaddleLowering&, OperatorId);
  OperatorId op;
};

// Families, one for each file; paddle_operators.cpp puts them together.
[[nodiscard]] const std::vector<PaddleRow>& paddle_creation_rows();
[[nodiscard]] const std::vector<PaddleRow>& paddle_elementwise_rows();
[[nodiscard]] const std::vector<PaddleRow>& paddle_index_rows();
[[nodiscard]] const std::vector<PaddleRow>& paddle_layer_rows();
[[nodiscard]] const std::vector<PaddleRow>& paddle_product_rows();
[[nodiscard]] const std::vector<PaddleRow>& paddle_recurrent_rows();
[[nodiscard]] const std::vector<PaddleRow>& paddle_view_rows();

}  // namespace latpred::readers
