#pragma once

#include <string_view>
#include <unordered_set>
#include <vector>

#include "latpred/json.h"
#include "readers/assembly.h"
#include "readers/name_table.h"
#include "readers/torch/aten.h"
#include "readers/torch/exported_values.h"

namespace latpred::readers {

// Turns graphs of the export schema into statements. The document must outlive it.
class ExportedGraph {
 public:
  explicit ExportedGraph(Assembly& assembly) : assembly_(assembly) {}

  // A variable for each tensor and symbolic number that `graph` declares and `names` does not have yet.
  void declare(const Json& graph, NameTable& names);
  void append_nodes(const Json& graph, NameTable& names);
  // Whether a declared tensor is four-dimensional and lies with its second dimension innermost, and not as usual.
  [[nodiscard]] bool lies_channels_last(std::string_view name) const { return channels_last_.contains(name); }

 private:
  // A call of a higher-order operator, whose arguments have no names.
  struct Call {
    std::string_view target;
    std::string_view name;
    std::vector<const Json*> arguments;
    std::vector<std::string_view> results;  // names in the graph around it
  };
  struct CallRow {
    std::string_view target;
    void (ExportedGraph::*append)(const Call&, NameTable&);
  };

  void append_node(const Json& node, NameTable& names);
  // The variable of a result; throws where something made it before.
  VariableId made(std::string_view name, const NameTable& names);

  // exported_control.cpp
  void append_call(std::string_view target, std::string_view name, const Json& node, NameTable& names);
  void append_conditional(const Call& call, NameTable& names);
  void append_while(const Call& call, NameTable& names);
  void append_scan(const Call& call, NameTable& names);
  void append_map(const Call& call, NameTable& names);
  void append_inlined(const Call& call, NameTable& names);
  void append_stepwise(const Call& call, const std::vector<VariableId>& states,
                       const std::vector<VariableId>& sequences, const std::vector<VariableId>& others,
                       NameTable& names);
  // Binds the inputs of `graph` to `operands` (kAbsent: a variable of its own) and appends its nodes; fills `inputs`.
  std::vector<VariableId> append_graph(const Json& graph, const std::vector<VariableId>& operands,
                                       std::vector<VariableId>* inputs = nullptr);
  std::vector<VariableId> made(const std::vector<std::string_view>& results, const NameTable& names);
  // Argument `index`, which is a graph, or something that graphs are called with.
  static const Json& graph_of(const Call& call, std::size_t index);
  std::vector<VariableId> operands_of(const Call& call, std::size_t index, const NameTable& names);

  Assembly& assembly_;
  ExportedSizes sizes_;
  std::unordered_set<std::string_view> channels_last_;
  std::vector<char> is_made_;  // by variable: a node gives it
};

// Appends `node` where it computes sizes (sym_size, `_operator.add`, ...); false where it is anything else.
[[nodiscard]] bool append_exported_scalar(Assembly& assembly, const AtenNode& node);

}  // namespace latpred::readers
