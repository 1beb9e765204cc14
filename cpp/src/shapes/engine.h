#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "shapes/baked.h"
#include "shapes/inputs.h"
#include "shapes/rule.h"

namespace latpred::shapes {

// What one variable is at this moment of the walk.
struct Slot {
  Known known;
  bool is_set = false;
  bool is_stored = false;  // fixed before the network runs: from the file, or computed from sizes and stored content
  bool is_trained = true;  // of what is stored: false for a buffer
  bool depends_on_sizes = false;  // stored, but computed from the sizes of the inputs: no trained weight
  bool is_open = false;           // made by an operator whose output sizes nobody knows
  DType stored_dtype =
      DType::undefined;       // the type in the file, where folded operators changed it (dequantised weights)
  TensorId tensor = kAbsent;  // of an activation
  std::int32_t storage = -1;  // of stored content: slots that share it share a tensor
  std::shared_ptr<const std::vector<Slot>> elements;  // of a sequence
};

// The only element as a truth value or a count, where it is known.
[[nodiscard]] std::optional<std::int64_t> known_scalar(const Slot& slot);

// One pass over a program at fixed input sizes: what it knows of each variable, and the graph that it builds.
class Engine {
 public:
  // `saved`: a finished pass over the same program at the batch that the file was saved with, when that is another.
  // `enlarged`: results that carry the batch though their operators do not say so.
  Engine(const Program& program, const InputSizes& sizes, const Engine* saved, const Enlarged* enlarged = nullptr);

  [[nodiscard]] Graph run();
  // What this pass found; nullptr where `variable` is absent, was not reached or has no sizes.
  [[nodiscard]] const Shape* shape_of(VariableId variable) const;
  // How many statements of bodies this pass has visited, each as often as it was written out.
  [[nodiscard]] std::int64_t body_visits() const { return body_visits_; }

 private:
  // engine.cpp: the walk
  void mark_needed(const Block& block, int depth);
  void set_inputs();
  void walk(const Block& block);
  void visit(const Statement& statement);
  void apply_rule(const Statement& statement, Rule rule);
  // Whether its first output is one of `enlarged_`, which has then been enlarged.
  bool enlarge(const Statement& statement, std::vector<Known>& outputs) const;
  void take_declared(const Statement& statement);
  void take_declared_types(const Statement& statement, std::vector<Known>& outputs) const;
  void check_declared(const Statement& statement);
  [[nodiscard]] std::optional<Shape> declared_now(const Variable& variable) const;
  void place(const Statement& statement, std::vector<Known> outputs, bool may_fold);
  [[nodiscard]] bool is_open(const Statement& statement) const;
  [[nodiscard]] std::string name_of(const Statement& statement) const;
  [[nodiscard]] const std::string& name_of(VariableId variable) const;
  Slot& slot(VariableId variable);
  // Where the walk stands, to come back to when an attempt at a body fails.
  struct Mark {
    std::size_t num_nodes;
    std::size_t num_warnings;
    std::size_t num_open;
    std::string prefix;
    std::int64_t repeat;
    int depth;
  };
  [[nodiscard]] Mark mark() const;
  void rewind(const Mark& mark);
  [[nodiscard]] const Slot& input_slot(const Statement& statement, std::size_t index);  // throws where absent
  void bind(VariableId variable, Slot slot);
  [[noreturn]] void refuse_batch(const std::string& where, const std::string& why) const;
  void check_outputs_keep_batch() const;

  // engine_graph.cpp: what the walk builds
  TensorId add_tensor(std::string name, DType dtype, Shape shape, TensorKind kind);
  TensorId tensor_of(Slot& slot, const std::string& name, OperatorId op, std::size_t index);
  [[nodiscard]] static TensorKind stored_kind(const Slot& slot, OperatorId op, std::size_t index);
  Node& emit(OperatorId op, std::string source_operator, std::string name, std::vector<TensorId> inputs,
             std::vector<TensorId> outputs, Attributes attributes);
  Slot make_activation(const std::string& name, DType dtype, Shape shape);
  void finish();

  // engine_control.cpp: branches and the table of what the engine handles itself
  void conditional(const Statement& statement);

  // engine_loops.cpp
  struct Loop;
  void loop(const Statement& statement);
  void scan(const Statement& statement);
  void iterate(Loop& loop);
  [[nodiscard]] bool repeat_once(Loop& loop);
  void unroll(Loop& loop);
  std::vector<Slot> run_body(const Loop& loop, const std::vector<Slot>& states, std::int64_t turn, bool is_unrolled);
  void bind_results(Loop& loop, std::vector<Slot> states, const std::vector<std::vector<Slot>>& stacked,
                    std::int64_t count);
  Slot one_step_of(const Loop& loop, std::size_t scanned, std::int64_t turn, bool is_unrolled);

  // engine_sequences.cpp: sequences and optionals, which vanish from the graph
  void sequence_construct(const Statement& statement);
  void sequence_empty(const Statement& statement);
  void sequence_insert(const Statement& statement);
  void sequence_erase(const Statement& statement);
  void sequence_at(const Statement& statement);
  void sequence_length(const Statement& statement);
  void sequence_map(const Statement& statement);
  void split_to_sequence(const Statement& statement);
  void concat_from_sequence(const Statement& statement);
  void optional(const Statement& statement);
  void optional_get_element(const Statement& statement);
  void optional_has_element(const Statement& statement);

  struct Handler {
    OperatorId op;
    void (Engine::*run)(const Statement&);
  };
  [[nodiscard]] static const Handler* handler(OperatorId op);

  const Program& program_;
  const InputSizes& sizes_;
  const Engine* saved_;
  const Enlarged* enlarged_;
  Rebatch rebatch_;
  std::vector<char> needed_;  // by variable: something that is kept reads it
  std::vector<Slot> slots_;   // by variable
  std::vector<TensorId> storage_tensors_;
  std::vector<std::pair<const Statement*, std::string>> open_statements_;  // without a rule, sizes unknown
  std::string prefix_;       // names of the bodies around the current statement
  std::int64_t repeat_ = 1;  // how often the current body runs
  std::int64_t body_visits_ = 0;
  int depth_ = 0;
  std::unordered_set<std::string> warned_;
  Graph graph_;
};

}  // namespace latpred::shapes
