#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "latpred/program.h"
#include "latpred/reader.h"
#include "readers/source.h"

namespace latpred::readers {

// A Program in the making: what the readers share. ONNX, the oldest, has scopes and bodies of its own.
class Assembly {
 public:
  // `framework` and `format` as SourceInfo has them.
  Assembly(const Source& source, const ReaderLimits& limits, std::string_view framework, std::string format);

  // An input of the network. No `dimensions`: the file does not say its rank.
  VariableId input(std::string name, DType dtype, std::optional<std::vector<Dimension>> dimensions);
  // A weight (trained) or a buffer, whose content is not read.
  VariableId stored(std::string name, DType dtype, const Shape& shape, bool is_trained = true);
  // Stored content that takes part in shape arithmetic.
  VariableId constant(std::string name, Value value);
  VariableId integers(std::string name, const std::vector<std::int64_t>& values);  // [values.size()] int64
  VariableId scalar(std::string name, DType dtype, double value);                  // []
  // Something that a statement makes; what the file declares of it, where it does, is checked.
  VariableId result(std::string name, DType dtype = DType::undefined,
                    std::optional<std::vector<Dimension>> dimensions = std::nullopt);
  void output(VariableId variable);

  // Frameworks that write in place: after `replace(x, y)` whoever means x gets y from `current`. `base` is the variable
  // whose memory a view looks at, the variable itself where it is no view.
  [[nodiscard]] VariableId current(VariableId variable) const;
  void replace(VariableId variable, VariableId newer);
  [[nodiscard]] VariableId base(VariableId variable) const;
  void set_base(VariableId view, VariableId base);

  // Appends `statement` to the main block; counts its `source_operator` as one of the file's nodes. Throws where there
  // are more than `max_nodes`.
  void append(Statement statement);
  // The same for a statement that the file does not have: a second half of an operator that we split.
  void append_part(Statement statement);
  // From here on statements carry the attribute kAutocast with this value; empty: without it.
  void set_autocast(std::string_view value) { autocast_ = value; }
  // Between these two, statements go to a body (of a branch, a loop or a scan) in place of the main block; bodies may
  // stand in one another. What is appended there is not counted as a node of the main block.
  void open_body();
  [[nodiscard]] Block close_body(std::vector<VariableId> inputs, std::vector<VariableId> outputs);

  void warn(std::string message);
  [[nodiscard]] Variable& variable(VariableId id);
  [[nodiscard]] Program& program() { return program_; }
  [[nodiscard]] const Source& source() const { return source_; }
  [[nodiscard]] const ReaderLimits& limits() const { return limits_; }
  [[nodiscard]] Program finish() { return std::move(program_); }

 private:
  VariableId add(Variable variable);

  const Source& source_;
  const ReaderLimits& limits_;
  Program program_;
  std::unordered_map<VariableId, VariableId> newer_;  // what was written over -> what stands there now
  std::unordered_map<VariableId, VariableId> bases_;  // view -> whose memory it looks at
  std::vector<Block> bodies_;                         // open ones, the innermost last
  std::int64_t num_statements_ = 0;
  std::string autocast_;
};

}  // namespace latpred::readers
