#include "readers/torch/aten.h"

#include <string>
#include <utility>

#include "latpred/graph.h"
#include "readers/torch/aten_call.h"
#include "readers/torch/aten_operators.h"

namespace latpred::readers {
namespace {

constexpr AtenRow kUnknown{"", OperatorId::unknown, nullptr};

void lower_unknown(const AtenCall& call) {
  call.append(call.statement(OperatorId::unknown, call.all_tensors(), call.node().outputs));
}

// The first tensor argument: what views look at and writes in place change.
VariableId first_tensor(const AtenNode& node) {
  for (const AtenArgument& argument : node.arguments) {
    if (const auto* tensor = std::get_if<AtenTensor>(&argument.value)) return tensor->variable;
  }
  return kAbsent;
}

// After `y = x.add_(..)`, x means y. Where x is a view of b, b's memory has changed too: whoever reads b from now on
// reads it after the write.
void write_in_place(const AtenCall& call, VariableId written) {
  Assembly& assembly = call.assembly();
  const VariableId result = call.output();
  if (written == kAbsent || result == kAbsent) return;
  const VariableId base = assembly.base(written);
  assembly.replace(written, result);
  if (base == written) return;
  assembly.set_base(result, base);
  const Variable before = assembly.variable(base);
  const VariableId after = assembly.result(before.name, before.dtype, before.dimensions);
  Statement order = call.statement(OperatorId::identity, {assembly.current(base), result}, {after});
  order.name = std::string(call.node().name) + "/base";
  assembly.append_part(std::move(order));
  assembly.replace(base, after);
}

}  // namespace

void lower_aten(Assembly& assembly, const AtenNode& node) {
  if (is_aten_check(node.target)) return;
  const AtenRow* row = aten_row(node.target);
  if (row == nullptr) {
    lower_unknown(AtenCall(assembly, node, kUnknown));
    return;
  }
  const AtenCall call(assembly, node, *row);
  const VariableId first = first_tensor(node);
  row->lower(call);
  if (is_in_place(node.target)) {
    write_in_place(call, first);
  } else if (row->is_view && first != kAbsent) {
    for (const VariableId view : node.outputs) assembly.set_base(view, assembly.base(first));
  }
}

}  // namespace latpred::readers
