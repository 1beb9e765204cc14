#include "readers/tensorflow/tensorflow_operators.h"

#include <unordered_map>

namespace latpred::readers::tensorflow {
namespace {

// Branches and loops; those without side effects have names of their own.
void branch(Node& node) { node.lowering().lower_if(node); }
void repeat(Node& node) { node.lowering().lower_while(node); }

void call(Node& node) { node.set_results(node.lowering().call(node, node.function("f"), node.inputs())); }

void constant(Node& node) { node.lowering().lower_constant(node); }
void variable(Node& node) { node.lowering().lower_variable(node); }
void placeholder(Node& node) { node.lowering().lower_placeholder(node); }

const std::vector<OperatorRow>& control_rows() {
  static const std::vector<OperatorRow> rows{
      {"Const", OperatorId::constant, constant},
      {"VarHandleOp", OperatorId::constant, variable},
      {"VariableV2", OperatorId::constant, variable},
      {"Placeholder", OperatorId::constant, placeholder},
      {"PartitionedCall", OperatorId::identity, call},
      {"StatefulPartitionedCall", OperatorId::identity, call},
      {"If", OperatorId::conditional, branch},
      {"StatelessIf", OperatorId::conditional, branch},
      {"While", OperatorId::loop, repeat},
      {"StatelessWhile", OperatorId::loop, repeat},
  };
  return rows;
}

}  // namespace

const OperatorRow* operator_row(std::string_view name) {
  static const auto* const by_name = [] {
    auto* rows = new std::unordered_map<std::string_view, const OperatorRow*>;
    for (const auto table :
         {layer_rows, arithmetic_rows, array_rows, slice_rows, index_rows, list_rows, control_rows}) {
      for (const OperatorRow& row : table()) rows->emplace(row.name, &row);
    }
    return rows;
  }();
  const auto found = by_name->find(name);
  return found != by_name->end() ? found->second : nullptr;
}

const OperatorRow& row_of(const Node& node) { return *operator_row(node.op()); }

}  // namespace latpred::readers::tensorflow
