#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "latpred/program.h"
#include "latpred/reader.h"
#include "readers/assembly.h"
#include "readers/shape_probe.h"
#include "readers/tensorflow/tensorflow_messages.h"

namespace latpred::readers::tensorflow {

// What an input of a node names: a result of another node, or an argument of the function around it.
struct Reference {
  std::int32_t node = -1;  // -1: an argument
  std::uint32_t index = 0;
};

// The nodes of the main graph or of a function, with names looked up once however often it is called.
struct Body {
  std::string_view name;  // "" for the main graph
  NodeList list;
  std::vector<Reference> references;  // by NodeList::inputs
  std::vector<Reference> results;     // of a function
  std::vector<std::string_view> arguments;
  std::vector<std::size_t> order;    // the nodes that the results need, producers first
  std::vector<std::int32_t> places;  // by node: where it stands in `order`; -1: nowhere
  bool is_active = false;            // being inlined
};

// A list of tensors (TensorList*): all that is known of it while the network is read. Its elements stand along the
// first axis of one tensor.
struct TensorList {
  VariableId stacked = kAbsent;  // kAbsent: nothing in it yet
  VariableId item = kAbsent;     // what a turn of a loop puts in
  VariableId position = kAbsent;
};

class Lowering;

// One node that is being translated: its inputs are variables, its results are to be set.
class Node {
 public:
  Node(Lowering& lowering, const Body& body, const NodeMessage& message, std::vector<VariableId> inputs)
      : lowering_(lowering), body_(body), message_(message), inputs_(std::move(inputs)) {}

  [[nodiscard]] std::string_view name() const { return message_.name; }
  [[nodiscard]] std::string_view op() const { return message_.op; }
  [[nodiscard]] const std::vector<VariableId>& inputs() const { return inputs_; }
  [[nodiscard]] VariableId input(std::size_t index) const;  // throws where there is none
  [[nodiscard]] Lowering& lowering() const { return lowering_; }

  // An attribute as the file has it, else TensorFlow's default; throws where there is neither.
  [[nodiscard]] std::int64_t integer(std::string_view name) const;  // booleans too
  [[nodiscard]] double real(std::string_view name) const;
  [[nodiscard]] std::string text(std::string_view name) const;
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view name) const;
  [[nodiscard]] DType dtype(std::string_view name) const;
  [[nodiscard]] std::string_view function(std::string_view name) const;
  [[nodiscard]] std::optional<ValueMessage> find(std::string_view name) const;  // in the file

  // The integers of input `index` where they follow from the file.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> known(std::size_t index) const;
  // The same; throws where they are computed from data. `what` completes "its ...".
  [[nodiscard]] std::vector<std::int64_t> integers_of(std::size_t index, std::string_view what) const;
  [[nodiscard]] std::int64_t integer_of(std::size_t index, std::string_view what) const;
  // The sizes of input `index` with kUnknownSize for what is open; nothing where not even the rank is known.
  [[nodiscard]] std::optional<Shape> sizes_of(std::size_t index) const;
  // What the file says of result `index` (_output_shapes).
  [[nodiscard]] std::optional<std::vector<Dimension>> declared(std::size_t index) const;

  // A statement that stands for a part of this node; its result.
  VariableId part(OperatorId op, std::vector<VariableId> inputs, Attributes attributes = {});
  std::vector<VariableId> parts(OperatorId op, std::vector<VariableId> inputs, Attributes attributes,
                                std::size_t num_results);
  // The statement that gives this node's result(s).
  void result(OperatorId op, std::vector<VariableId> inputs, Attributes attributes = {}, std::size_t num_results = 1);
  // Results that exist already.
  void alias(VariableId variable) { results_ = {variable}; }
  void set_results(std::vector<VariableId> results) { results_ = std::move(results); }
  [[nodiscard]] const std::vector<VariableId>& results() const { return results_; }

  VariableId integers_constant(const std::vector<std::int64_t>& values);
  VariableId scalar_constant(DType dtype, double value);

  [[noreturn]] void fail(const std::string& what) const;

 private:
  [[nodiscard]] std::string_view default_text(std::string_view name) const;
  void append(OperatorId op, std::vector<VariableId> inputs, Attributes attributes, std::vector<VariableId> results);

  Lowering& lowering_;
  const Body& body_;
  const NodeMessage& message_;
  std::vector<VariableId> inputs_;
  std::vector<VariableId> results_;
  mutable std::optional<std::vector<Message>> declared_;  // once it has been asked for
};

// Attributes from a list of pairs.
[[nodiscard]] Attributes settings(std::vector<std::pair<std::string, AttributeValue>> items);

// Turns the messages of one SavedModel or GraphDef into a Program: files in tensorflow.cpp, functions in
// tensorflow_functions.cpp, branches and loops in tensorflow_control.cpp.
class Lowering {
 public:
  Lowering(const Source& source, const ReaderLimits& limits, std::string format);

  Program saved_model();
  Program graph_def();

  // Inlines function `name` for these arguments; its results.
  std::vector<VariableId> call(const Node& node, std::string_view name, const std::vector<VariableId>& arguments);
  [[nodiscard]] bool has_function(std::string_view name) const { return functions_.contains(name); }
  Body& function(const Node& node, std::string_view name);

  [[nodiscard]] Assembly& assembly() { return assembly_; }
  [[nodiscard]] const Source& source() const { return source_; }
  void lower_constant(Node& node);
  void lower_variable(Node& node);
  void lower_placeholder(Node& node);
  void note_training() { has_training_node_ = true; }
  // Sizes and small contents as far as they follow from what has been read.
  [[nodiscard]] ShapeProbe& probe() { return probe_; }
  // An input or stored content that has just been made, for the probe.
  VariableId noted(VariableId variable);
  // Stored content, and stored content in another shape: each shape of it is one variable, however often the graph
  // makes it, so that it counts once.
  [[nodiscard]] bool is_fixed(VariableId variable) {
    return assembly_.variable(variable).is_stored || fixed_.contains(variable);
  }
  [[nodiscard]] VariableId find_rearranged(const std::string& key) const;
  void note_rearranged(const std::string& key, VariableId variable);
  // Counts what a node makes, against max_nodes: one node may have as many results as it says.
  void count_results(const Node& node, std::size_t count);
  // Takes what the file declares of a result that the probe could not tell.
  void take_declared(VariableId result);

  // Lists of tensors, by the variable that stands for them.
  [[nodiscard]] TensorList* list(VariableId variable);
  VariableId make_list(const Node& node, TensorList list);

  // tensorflow_control.cpp
  void lower_if(Node& node);
  void lower_while(Node& node);

 private:
  struct Loop;

  void read_library(const std::vector<Message>& functions);
  void check_size(const std::vector<Message>& nodes) const;
  void look_up(Body& body);
  [[nodiscard]] std::uint32_t result_index(std::string_view op, std::string_view result, std::string_view text,
                                           std::int64_t offset);
  void put_in_order(Body& body, const std::vector<Reference>& roots);
  // Translates the nodes of `body`: the results of each, in their order.
  std::vector<std::vector<VariableId>> walk(Body& body, const std::vector<VariableId>& arguments);
  [[nodiscard]] VariableId value_of(const Body& body, const std::vector<std::vector<VariableId>>& values,
                                    const std::vector<VariableId>& arguments, Reference reference) const;
  std::vector<VariableId> lower_node(const Body& body, const NodeMessage& message, std::vector<VariableId> inputs);
  void lower_unknown(Node& node);

  void make_inputs(const Body& main, const std::unordered_map<std::string_view, std::int32_t>& nodes,
                   const std::vector<TensorInfo>& inputs);
  Program finish();

  // tensorflow_control.cpp
  void describe(const Node& node, Loop& loop);
  [[nodiscard]] bool count_turns(Node& node, Loop& loop);
  [[nodiscard]] std::optional<std::int64_t> constant_in(const Body& body, Reference reference) const;
  void run_counted(Node& node, Loop& loop);
  void run_while(Node& node, Loop& loop);

  const Source& source_;
  const ReaderLimits& limits_;
  Assembly assembly_;
  std::map<std::string_view, FunctionMessage> functions_;
  std::map<std::string_view, Body> bodies_;  // of functions that are called
  Message operators_;
  std::optional<std::map<std::string_view, std::vector<std::string_view>>> operator_results_;
  std::unordered_map<VariableId, TensorList> lists_;
  std::unordered_map<std::int64_t, VariableId> given_;      // what the caller gives, by the offset of its node
  std::unordered_map<std::int64_t, VariableId> constants_;  // by the offset of their nodes
  std::unordered_map<std::string, VariableId> rearranged_;
  std::unordered_set<VariableId> fixed_;  // what they name
  ShapeProbe probe_;
  bool has_variables_ = false;
  bool has_training_node_ = false;
  std::int64_t num_lowered_ = 0;
  std::int64_t depth_ = 0;
  std::int64_t num_open_blocks_ = 0;  // bodies around the current node
};

}  // namespace latpred::readers::tensorflow
