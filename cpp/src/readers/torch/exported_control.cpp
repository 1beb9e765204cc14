#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "latpred/error.h"
#include "latpred/text.h"
#include "readers/torch/exported_graph.h"

namespace latpred::readers {
namespace {

std::vector<VariableId> joined(std::vector<VariableId> first, const std::vector<VariableId>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

// torch/_higher_order_ops. A graph is called under other settings by those that are inlined.
void ExportedGraph::append_call(std::string_view target, std::string_view name, const Json& node, NameTable& names) {
  static constexpr CallRow kCalls[] = {
      {"higher_order.cond", &ExportedGraph::append_conditional},
      {"higher_order.while_loop", &ExportedGraph::append_while},
      {"higher_order.scan", &ExportedGraph::append_scan},
      {"higher_order.map_impl", &ExportedGraph::append_map},
      {"higher_order.wrap_with_set_grad_enabled", &ExportedGraph::append_inlined},
      {"higher_order.wrap_with_autocast", &ExportedGraph::append_inlined},
      {"higher_order.invoke_subgraph", &ExportedGraph::append_inlined},
      {"higher_order.strict_mode", &ExportedGraph::append_inlined},
      {"higher_order.tag_activation_checkpoint", &ExportedGraph::append_inlined},
      {"higher_order.wrap", &ExportedGraph::append_inlined},
  };
  const auto* row =
      std::find_if(std::begin(kCalls), std::end(kCalls), [&](const CallRow& one) { return one.target == target; });
  if (row == std::end(kCalls)) {
    std::vector<std::string> known;
    for (const CallRow& one : kCalls) known.emplace_back(one.target);
    throw UnsupportedOperatorError(unknown_name_message("higher-order operator", target, known), {.valid = known});
  }
  Call call{.target = target, .name = name, .arguments = {}, .results = exported_names(node.at("outputs"))};
  for (const Json& input : node.at("inputs").array()) call.arguments.push_back(&input.at("arg"));
  (this->*row->append)(call, names);
}

const Json& ExportedGraph::graph_of(const Call& call, std::size_t index) {
  if (index < call.arguments.size()) {
    const ExportedUnion argument = exported_union(*call.arguments[index]);
    if (argument.kind == "as_graph") return argument.value.at("graph");
  }
  throw ModelFileError(concat("its argument ", index, " is no graph"));
}

std::vector<VariableId> ExportedGraph::operands_of(const Call& call, std::size_t index, const NameTable& names) {
  if (index >= call.arguments.size()) {
    throw ModelFileError(concat("has ", call.arguments.size(), " arguments, at least ", index + 1, " expected"));
  }
  std::vector<VariableId> operands;
  append_operands(*call.arguments[index], names, assembly_, operands);
  return operands;
}

std::vector<VariableId> ExportedGraph::append_graph(const Json& graph, const std::vector<VariableId>& operands,
                                                    std::vector<VariableId>* inputs) {
  NameTable names;
  const std::vector<std::string_view> input_names = exported_names(graph.at("inputs"));
  if (input_names.size() != operands.size()) {
    throw ModelFileError(concat("its graph takes ", input_names.size(), " values, ", operands.size(), " are given"));
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] != kAbsent && !input_names[i].empty()) names.emplace(input_names[i], operands[i]);
  }
  declare(graph, names);
  if (inputs != nullptr) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      inputs->push_back(operands[i] == kAbsent ? made(input_names[i], names) : operands[i]);
    }
  }
  append_nodes(graph, names);
  std::vector<VariableId> outputs;
  for (const std::string_view name : exported_names(graph.at("outputs"))) {
    outputs.push_back(name.empty() ? kAbsent : assembly_.current(exported_variable(name, names)));
  }
  return outputs;
}

// cond(condition, then, else, operands)
void ExportedGraph::append_conditional(const Call& call, NameTable& names) {
  Statement statement{.op = OperatorId::conditional,
                      .source_operator = std::string(call.target),
                      .name = std::string(call.name),
                      .inputs = operands_of(call, 0, names)};
  const std::vector<VariableId> operands = operands_of(call, 3, names);
  for (std::size_t branch = 0; branch < 2; ++branch) {
    assembly_.open_body();
    auto outputs = append_graph(graph_of(call, 1 + branch), operands);
    statement.bodies.push_back(assembly_.close_body({}, std::move(outputs)));
  }
  statement.outputs = made(call.results, names);
  assembly_.append(std::move(statement));
}

// while_loop(condition, body, states, others): a Loop of ONNX, whose body ends with the condition of the next turn.
void ExportedGraph::append_while(const Call& call, NameTable& names) {
  const std::vector<VariableId> states = operands_of(call, 2, names);
  const std::vector<VariableId> others = operands_of(call, 3, names);
  const auto condition_of = [&](const std::vector<VariableId>& values) {
    const auto outputs = append_graph(graph_of(call, 0), joined(values, others));
    if (outputs.size() != 1) throw ModelFileError(concat("its condition gives ", outputs.size(), " values"));
    return outputs.front();
  };
  Statement statement{.op = OperatorId::loop,
                      .source_operator = std::string(call.target),
                      .name = std::string(call.name),
                      .inputs = joined({kAbsent, condition_of(states)}, states)};
  assembly_.open_body();
  std::vector<VariableId> inputs{assembly_.result("turn", DType::int64, std::vector<Dimension>()),
                                 assembly_.result("condition", DType::boolean, std::vector<Dimension>())};
  std::vector<VariableId> of_body;
  std::vector<VariableId> outputs =
      append_graph(graph_of(call, 1), joined(std::vector<VariableId>(states.size(), kAbsent), others), &of_body);
  const VariableId goes_on = condition_of(outputs);
  of_body.resize(states.size());
  statement.bodies.push_back(assembly_.close_body(joined(std::move(inputs), of_body), joined({goes_on}, outputs)));
  statement.outputs = made(call.results, names);
  assembly_.append(std::move(statement));
}

// scan(body, states, sequences, others)
void ExportedGraph::append_scan(const Call& call, NameTable& names) {
  append_stepwise(call, operands_of(call, 1, names), operands_of(call, 2, names), operands_of(call, 3, names), names);
}

// map_impl(body, sequences, others)
void ExportedGraph::append_map(const Call& call, NameTable& names) {
  append_stepwise(call, {}, operands_of(call, 1, names), operands_of(call, 2, names), names);
}

void ExportedGraph::append_stepwise(const Call& call, const std::vector<VariableId>& states,
                                    const std::vector<VariableId>& sequences, const std::vector<VariableId>& others,
                                    NameTable& names) {
  constexpr std::int64_t kOpset = 9;  // Scan without a batch axis
  Statement statement{.op = OperatorId::scan,
                      .source_operator = std::string(call.target),
                      .name = std::string(call.name),
                      .inputs = joined(states, sequences)};
  statement.attributes.set("num_scan_inputs", static_cast<std::int64_t>(sequences.size()));
  statement.attributes.set("opset", kOpset);
  assembly_.open_body();
  std::vector<VariableId> inputs;
  auto outputs = append_graph(graph_of(call, 0),
                              joined(std::vector<VariableId>(statement.inputs.size(), kAbsent), others), &inputs);
  inputs.resize(statement.inputs.size());
  statement.bodies.push_back(assembly_.close_body(std::move(inputs), std::move(outputs)));
  statement.outputs = made(call.results, names);
  assembly_.append(std::move(statement));
}

// wrap_with_...(settings..., body, operands...); some name the body in a text behind it.
void ExportedGraph::append_inlined(const Call& call, NameTable& names) {
  std::size_t body = 0;
  while (body < call.arguments.size() && exported_union(*call.arguments[body]).kind != "as_graph") ++body;
  const Json& graph = graph_of(call, body);
  std::vector<VariableId> operands;
  for (std::size_t i = body + 1; i < call.arguments.size(); ++i) {
    if (exported_union(*call.arguments[i]).kind == "as_string") continue;
    append_operands(*call.arguments[i], names, assembly_, operands);
  }
  const std::vector<VariableId> outputs = append_graph(graph, operands);
  if (outputs.size() != call.results.size()) {
    throw ModelFileError(concat("its graph gives ", outputs.size(), " values, ", call.results.size(), " are read"));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (call.results[i].empty()) continue;
    (void)made(call.results[i], names);
    *names.emplace(call.results[i], outputs[i]).first = outputs[i];
  }
}

}  // namespace latpred::readers
