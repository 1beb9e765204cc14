#include "readers/paddle/paddle_program.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

#include "latpred/text.h"
#include "readers/assembly.h"
#include "readers/paddle/paddle_messages.h"
#include "readers/paddle/paddle_operators.h"

namespace latpred::readers {
namespace {

// Paddle writes this for an argument that is left out.
constexpr std::string_view kLeftOut = "@EMPTY@";

// 2004001 -> "2.4.1"; files from before 1.5 have none.
std::string version_text(std::int64_t version) {
  if (version <= 0) return "before 1.5";
  return concat(version / 1'000'000, ".", version / 1000 % 1000, ".", version % 1000);
}

bool is_control(std::string_view type) {
  constexpr std::string_view kControl[] = {"while",          "conditional_block", "conditional_block_infer",
                                           "select_input",   "select_output",     "recurrent",
                                           "static_pylayer", "py_func",           "run_program"};
  return std::find(std::begin(kControl), std::end(kControl), type) != std::end(kControl);
}

class ProgramReader {
 public:
  ProgramReader(const Source& source, const ReaderLimits& limits)
      : source_(source),
        message_(parse_paddle_program(source, limits.max_nodes)),
        assembly_(source, limits, "paddle", "") {}

  Program read() {
    if (message_.num_blocks == 0) source_.fail_as_damaged("it has no block", 0);
    assembly_.program().source.format = "Paddle ProgramDesc";
    assembly_.program().source.producer = concat("paddle ", version_text(message_.version));
    for (const PaddleVariableMessage& variable : message_.main.variables) declared_.emplace(variable.name, &variable);
    read_inputs();
    for (const PaddleOpMessage& op : message_.main.operators) {
      if (op.type == "feed") continue;
      if (op.type == "fetch") {
        read_result(op);
      } else {
        read_operator(op);
      }
      ++position_;
    }
    for (const auto& [column, id] : results_) assembly_.output(id);
    if (results_.empty()) use_unread_results();
    return assembly_.finish();
  }

 private:
  // In the order of the columns that they are fed from.
  void read_inputs() {
    std::multimap<std::int64_t, std::string_view> fed;
    for (const PaddleOpMessage& op : message_.main.operators) {
      if (op.type != "feed") continue;
      for (const PaddleArgument& output : op.outputs) {
        for (const std::string_view name : output.names) fed.emplace(op.attributes.integer("col", 0), name);
      }
    }
    std::vector<std::string_view> names;
    for (const auto& [column, name] : fed) names.push_back(name);
    if (names.empty()) {  // a program that was saved as it is built
      for (const PaddleVariableMessage& variable : message_.main.variables) {
        if (variable.is_fed && !variable.is_persistable) names.push_back(variable.name);
      }
    }
    for (const std::string_view name : names) {
      const auto found = declared_.find(name);
      if (found == declared_.end()) source_.fail(concat("the input '", name, "' is declared nowhere in the file"));
      std::optional<std::vector<Dimension>> dimensions;
      if (found->second->sizes) dimensions = paddle_dimensions(*found->second->sizes, true);
      const VariableId id = assembly_.input(std::string(name), found->second->dtype, std::move(dimensions));
      if (!current_.emplace(name, id).second) source_.fail(concat("the input '", name, "' is fed twice"));
    }
  }

  void read_result(const PaddleOpMessage& op) {
    for (const PaddleArgument& input : op.inputs) {
      for (const std::string_view name : input.names) {
        results_.emplace(op.attributes.integer("col", 0), variable_read(name, op));
      }
    }
  }

  // Without fetch operators: what is made and not read.
  void use_unread_results() {
    std::unordered_map<VariableId, bool> is_read;
    for (const Statement& statement : assembly_.program().main.statements) {
      for (const VariableId id : statement.inputs) is_read[id] = true;
    }
    for (const Statement& statement : assembly_.program().main.statements) {
      for (const VariableId id : statement.outputs) {
        if (id != kAbsent && !is_read[id]) assembly_.output(id);
      }
    }
    if (assembly_.program().main.outputs.empty()) source_.fail("it has no result: no 'fetch' and no other operator");
    assembly_.warn("the file has no 'fetch' operators; everything that no operator reads is taken for a result");
  }

  void read_operator(const PaddleOpMessage& op) {
    if (is_control(op.type)) {
      source_.fail(
          concat("operator ", position_, " is '", op.type,
                 "': control flow in a .pdmodel is not read; save the network with Paddle 3, whose PIR JSON is"),
          op.offset);
    }
    if (op.type.ends_with("_grad")) {
      source_.fail(concat("operator ", position_, " is '", op.type,
                          "': this is a program for training; save the network with paddle.jit.save"),
                   op.offset);
    }
    PaddleOperator lowered;
    lowered.name = op.type;
    lowered.attributes = op.attributes;
    for (const PaddleArgument& input : op.inputs) {
      PaddleSlot slot{input.parameter, {}};
      for (const std::string_view name : input.names) {
        if (name != kLeftOut) slot.variables.push_back(variable_read(name, op));
      }
      lowered.inputs.push_back(std::move(slot));
    }
    // A name may be written more than once, or be read and written: each time it means something new.
    for (const PaddleArgument& output : op.outputs) {
      PaddleSlot slot{output.parameter, {}};
      for (const std::string_view name : output.names) {
        slot.variables.push_back(name == kLeftOut ? kAbsent : variable_made(op, output.parameter, name));
        if (lowered.node.empty() && name != kLeftOut) lowered.node = name;
      }
      lowered.outputs.push_back(std::move(slot));
    }
    // A batch norm lists its statistics before its result.
    for (const PaddleArgument& output : op.outputs) {
      const bool is_result = output.parameter == "Out" || output.parameter == "Y" || output.parameter == "Output";
      if (is_result && !output.names.empty()) lowered.node = output.names.front();
    }
    lowered.node = shortened(lowered.node);
    count_paddle(assembly_, lowered.name);
    lower_paddle(assembly_, lowered);
  }

  VariableId variable_read(std::string_view name, const PaddleOpMessage& op) {
    const auto found = current_.find(name);
    if (found != current_.end()) return found->second;
    const auto declared = declared_.find(name);
    const PaddleVariableMessage* variable = declared == declared_.end() ? nullptr : declared->second;
    if (variable == nullptr || !variable->is_persistable || !variable->sizes) {
      source_.fail(concat("operator ", position_, " (", op.type, ") reads '", name,
                          "', which is neither an input nor a weight and which nothing before it makes"),
                   op.offset);
    }
    for (const std::int64_t size : *variable->sizes) {
      if (size < 0) {
        source_.fail(concat("the weight '", name, "' has an open size: ", shape_text(*variable->sizes)),
                     variable->offset);
      }
    }
    const VariableId id = assembly_.stored(std::string(name), variable->dtype, *variable->sizes);
    current_.emplace(name, id);
    return id;
  }

  VariableId variable_made(const PaddleOpMessage& op, std::string_view parameter, std::string_view name) {
    // Running statistics that are written back in training only.
    const bool is_statistic =
        op.type.find("batch_norm") != std::string_view::npos && (parameter == "MeanOut" || parameter == "VarianceOut");
    if (is_statistic) return kAbsent;
    const auto declared = declared_.find(name);
    const PaddleVariableMessage* variable = declared == declared_.end() ? nullptr : declared->second;
    std::optional<std::vector<Dimension>> dimensions;
    if (variable != nullptr && variable->sizes) dimensions = paddle_dimensions(*variable->sizes, false);
    const DType dtype = variable == nullptr ? DType::undefined : variable->dtype;
    const VariableId id = assembly_.result(std::string(name), dtype, std::move(dimensions));
    current_[name] = id;
    return id;
  }

  const Source& source_;
  const PaddleProgramMessage message_;
  Assembly assembly_;
  std::unordered_map<std::string_view, const PaddleVariableMessage*> declared_;
  std::unordered_map<std::string_view, VariableId> current_;
  std::multimap<std::int64_t, VariableId> results_;
  std::int64_t position_ = 0;  // of the operator being read
};

}  // namespace

Program read_paddle_program(const Source& source, const ReaderLimits& limits) {
  return ProgramReader(source, limits).read();
}

}  // namespace latpred::readers
