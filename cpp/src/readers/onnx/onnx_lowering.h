#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "latpred/program.h"
#include "latpred/reader.h"
#include "readers/onnx/onnx_messages.h"
#include "readers/onnx/onnx_scope.h"
#include "readers/onnx/onnx_tensors.h"
#include "readers/order.h"

namespace latpred::readers {

// "Conv", "com.microsoft::Gelu"
[[nodiscard]] std::string qualified_name(std::string_view domain, std::string_view name);

// Turns the messages of one ONNX file into a Program: graphs in onnx.cpp, nodes in onnx_nodes.cpp.
class Lowering {
 public:
  Lowering(const Source& source, const ReaderLimits& limits) : source_(source), limits_(limits) {}

  Program run();

 private:
  struct Function {
    FunctionMessage message;
    NodeList nodes;
    bool is_active = false;  // being put in place of a call
  };
  // A block in the making.
  struct Builder {
    Block block;
    std::vector<Capture> captures;
  };

  void read_header(const ModelMessage& model);
  void read_functions(const ModelMessage& model);
  [[nodiscard]] Function* find_function(const NodeMessage& node);

  Block lower_graph(Message message, Scope& scope, bool is_main);
  void lower_initializers(const GraphMessage& graph, Scope& scope);
  void lower_inputs(const GraphMessage& graph, Scope& scope, bool is_main, Block& block);
  void declare(Message message, Scope& scope);
  void count_operators(const NodeList& list);

  void define_outputs(const NodeList& list, Scope& scope, std::unordered_set<std::string_view>* pending);
  void lower_nodes(const NodeList& list, Scope& scope, Builder& builder);
  void lower_node(const NodeList& list, const NodeMessage& node, Scope& scope, Builder& builder);
  void lower_constant(const NodeList& list, const NodeMessage& node, Scope& scope, VariableId output);
  void lower_call(const NodeList& list, const NodeMessage& node, Function& function, Statement call, Scope& scope,
                  Builder& builder);
  void lower_attribute(const NodeMessage& node, Message message, Scope& scope, Statement& statement,
                       std::vector<VariableId>& captures);
  Block lower_body(Message message, Scope& around, std::vector<VariableId>& captures);
  void append(Statement statement, Builder& builder, const std::vector<VariableId>& captures = {});

  // Parses `message` into attribute_, following a reference to the surrounding function's attribute; nullptr where
  // that was left out. The result is the scope for names in it.
  Scope* resolve_attribute(Message message, Scope& scope);
  VariableId add_variable(std::string_view name, const Scope& scope);
  [[nodiscard]] Variable& variable(VariableId id) { return program_.variables[static_cast<std::size_t>(id)]; }
  [[nodiscard]] std::int64_t version_of(const NodeMessage& node, const Scope& scope);
  [[nodiscard]] std::string node_name(const NodeList& list, const NodeMessage& node, const Scope& scope) const;
  void check_depth(std::int64_t depth) const;
  void note_external(const TensorMessage& tensor);
  void warn_of_external();

  const Source& source_;
  const ReaderLimits& limits_;
  Program program_;
  OpsetVersions versions_;
  std::unordered_map<std::string, Function> functions_;  // by qualified_name and overload
  AttributeMessage attribute_;
  Producers producers_;
  std::int64_t num_lowered_ = 0;
  std::set<std::string, std::less<>> external_locations_;
  bool has_training_node_ = false;
};

}  // namespace latpred::readers
