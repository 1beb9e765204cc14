#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "latpred/program.h"
#include "latpred/reader.h"
#include "readers/assembly.h"
#include "readers/containers/flatbuffer.h"

namespace latpred::readers {

// Fields of the schema's Operator.
enum OperatorField {
  kOperatorCode = 0,
  kOperatorInputs = 1,
  kOperatorOutputs = 2,
  kOperatorOptions = 4,
  kOperatorOptions2 = 12,
};

// The tensors of one use of a subgraph: the main one, or a body or a callee each time that it is put in place.
struct TfliteScope {
  std::size_t index = 0;  // of the subgraph
  FlatTables tensors;
  std::vector<VariableId> variables;  // by tensor; kAbsent until it is met
  std::vector<std::int32_t> makers;   // by tensor: the operator that writes it, kGiven for an input, kNobody
  static constexpr std::int32_t kGiven = -1;
  static constexpr std::int32_t kNobody = -2;

  [[nodiscard]] bool is_made(std::int32_t tensor) const {
    return makers.at(static_cast<std::size_t>(tensor)) != kNobody;
  }
};

// The operator that writes a tensor.
struct TfliteMaker {
  int code;  // BuiltinOperator of the schema
  std::vector<std::int32_t> inputs;
};

class TfliteLowering;

// One operator of the file and what its handler needs to put statements in its place.
class TfliteNode {
 public:
  TfliteNode(TfliteLowering& lowering, TfliteScope& scope, const FlatTable& table, std::string name, std::string kind,
             int activation_field);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& kind() const { return kind_; }  // "CONV_2D"
  [[nodiscard]] TfliteLowering& lowering() const { return lowering_; }
  [[nodiscard]] TfliteScope& scope() const { return scope_; }
  [[nodiscard]] Assembly& assembly() const;
  [[noreturn]] void fail(const std::string& what) const;

  [[nodiscard]] std::size_t num_inputs() const { return inputs_.size(); }
  [[nodiscard]] std::size_t num_outputs() const { return outputs_.size(); }
  [[nodiscard]] bool has_input(std::size_t index) const { return index < inputs_.size() && inputs_[index] >= 0; }
  [[nodiscard]] VariableId input(std::size_t index) const;     // throws ModelFileError where it is left out
  [[nodiscard]] VariableId optional(std::size_t index) const;  // kAbsent where it is left out
  [[nodiscard]] std::vector<VariableId> inputs(std::size_t first = 0) const;
  // What the file declares of an input: its sizes (kUnknownSize where open; nothing without rank), its content.
  [[nodiscard]] std::optional<Shape> shape(std::size_t index) const;
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers(std::size_t index) const;
  [[nodiscard]] DType dtype(std::size_t index) const;
  [[nodiscard]] DType output_dtype(std::size_t index) const;
  [[nodiscard]] std::optional<Shape> output_shape(std::size_t index) const;
  [[nodiscard]] FlatTable tensor(std::size_t input) const;
  // The operator of this subgraph that makes an input.
  [[nodiscard]] std::optional<TfliteMaker> maker(std::size_t input) const;
  [[nodiscard]] FlatTable output_tensor(std::size_t output) const;

  // A setting of the operator's own table, or of the newer operators' second one.
  template <typename T>
  [[nodiscard]] T option(int field, T fallback) const {
    return options_ ? options_->number<T>(field, fallback) : fallback;
  }
  [[nodiscard]] bool flag(int field) const { return option<std::uint8_t>(field, 0) != 0; }
  template <typename T>
  [[nodiscard]] std::vector<T> option_list(int field) const {
    return options_ ? options_->numbers<T>(field) : std::vector<T>();
  }

  // Settings of a statement under construction, as ProgramBuilder has them.
  using Settings = std::vector<std::pair<std::string, AttributeValue>>;

  // A statement whose result something further of this operator reads.
  VariableId part(OperatorId op, std::vector<VariableId> inputs, const Settings& settings = {});
  // The statement whose results are the operator's, followed by the activation that is fused into it.
  void finish(OperatorId op, std::vector<VariableId> inputs, const Settings& settings = {});
  // The same for one of several outputs.
  void finish_output(std::size_t output, OperatorId op, std::vector<VariableId> inputs, const Settings& settings = {});
  // Outputs in an order of ONNX's; -1: one that the file does not have.
  void finish_as(OperatorId op, std::vector<VariableId> inputs, const std::vector<int>& outputs,
                 const Settings& settings = {});
  // A statement with bodies.
  void finish_with_bodies(OperatorId op, std::vector<VariableId> inputs, std::vector<Block> bodies);
  // An output that is a variable already: no statement.
  void bind_output(std::size_t output, VariableId variable);
  // No statement at all: counts the operator as one of the file's.
  void count();

  [[nodiscard]] VariableId number(std::int64_t value);                        // a stored scalar, int32
  [[nodiscard]] VariableId numbers(const std::vector<std::int64_t>& values);  // a stored list, int64

 private:
  [[nodiscard]] VariableId output(std::size_t index) const;
  void append(OperatorId op, std::vector<VariableId> inputs, std::vector<VariableId> outputs, const Settings& settings,
              std::vector<Block> bodies = {});
  void activate(VariableId from, VariableId to);

  TfliteLowering& lowering_;
  TfliteScope& scope_;
  std::string name_;
  std::string kind_;
  std::vector<std::int32_t> inputs_;
  std::vector<std::int32_t> outputs_;
  std::optional<FlatTable> options_;
  int activation_field_;
  int num_statements_ = 0;
};

// Turns one file into a Program.
class TfliteLowering {
 public:
  TfliteLowering(const Source& source, const ReaderLimits& limits);

  Program run();

  // Puts subgraph `index` in place of a call, reading `inputs`; what its outputs are in the caller.
  std::vector<VariableId> inline_subgraph(std::size_t index, const std::vector<VariableId>& inputs);
  // The tensors of subgraph `index`, for looking at it.
  [[nodiscard]] TfliteScope open_scope(std::size_t index) const;
  [[nodiscard]] std::vector<std::int32_t> inputs_of(std::size_t index) const;
  [[nodiscard]] std::vector<std::int32_t> outputs_of(std::size_t index) const;
  [[nodiscard]] std::optional<TfliteMaker> maker_of(const TfliteScope& scope, std::int32_t tensor) const;
  [[nodiscard]] VariableId variable_of(TfliteScope& scope, std::int32_t tensor);
  [[nodiscard]] FlatTable tensor_of(const TfliteScope& scope, std::int32_t tensor) const;
  // Numbers that stand in the file for this tensor; nothing where something makes it.
  [[nodiscard]] std::shared_ptr<const Value> value_of(const TfliteScope& scope, std::int32_t tensor) const;
  [[nodiscard]] Assembly& assembly() { return assembly_; }
  [[nodiscard]] const Source& source() const { return buffer_.source(); }

 private:
  struct Code {
    int builtin = 0;
    std::string custom;
  };

  [[nodiscard]] const Code& code_of(const FlatTable& operation) const;
  void read_codes();
  void read_producer();
  [[nodiscard]] FlatTable subgraph_at(std::size_t index) const;
  void lower_operators(TfliteScope& scope);
  void lower_operator(TfliteScope& scope, const FlatTable& table, std::size_t index);
  [[nodiscard]] std::string_view content_of(const FlatTable& tensor) const;
  [[nodiscard]] std::string name_of(const TfliteScope& scope, std::int32_t tensor) const;

  Flatbuffer buffer_;
  FlatTable model_;
  FlatTables subgraphs_;
  FlatTables buffers_;
  Assembly assembly_;
  const ReaderLimits& limits_;
  std::vector<Code> codes_;
  std::vector<bool> is_active_;  // subgraphs being put in place
  // Stored tensors that are one: the same buffer under several names.
  std::map<std::tuple<std::uint32_t, DType, Shape>, VariableId> stored_;
  std::int64_t num_operators_ = 0;
};

// The element type of a tensor, and sizes as the file declares them: kUnknownSize where it leaves them open.
[[nodiscard]] DType tflite_dtype(const Source& source, const FlatTable& tensor);
[[nodiscard]] std::optional<Shape> tflite_shape(const Source& source, const FlatTable& tensor);

// How an operator of the file is lowered.
struct TfliteOperatorRow {
  int code;  // BuiltinOperator of the schema
  std::string_view name;
  OperatorId op;
  void (*lower)(TfliteNode& node, OperatorId op);
  int activation_field = -1;  // where its options say which activation is fused in
};
// The tables of tflite_layers.cpp, tflite_arithmetic.cpp, tflite_views.cpp and tflite_control.cpp.
[[nodiscard]] const std::vector<TfliteOperatorRow>& tflite_layers();
[[nodiscard]] const std::vector<TfliteOperatorRow>& tflite_arithmetic();
[[nodiscard]] const std::vector<TfliteOperatorRow>& tflite_views();
[[nodiscard]] const std::vector<TfliteOperatorRow>& tflite_slices();
[[nodiscard]] const std::vector<TfliteOperatorRow>& tflite_control();
// The row of `code`; nullptr where none has it.
[[nodiscard]] const TfliteOperatorRow* find_tflite_operator(int code);
// The schema's name of `code`, for messages: "NON_MAX_SUPPRESSION_V5", "builtin 300".
[[nodiscard]] std::string tflite_operator_name(int code);

// An operator of no table: its sizes are those that the file declares.
void lower_as_declared(TfliteNode& node, OperatorId op);
// The operator's inputs as they stand, without settings.
void lower_plain(TfliteNode& node, OperatorId op);

}  // namespace latpred::readers
