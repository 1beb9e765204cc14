#include <algorithm>
#include <iterator>
#include <optional>

#include "latpred/error.h"
#include "latpred/text.h"
#include "shapes/engine.h"
#include "shapes/fold.h"

namespace latpred::shapes {

std::optional<std::int64_t> known_scalar(const Slot& slot) {
  const Value* value = slot.known.value.get();
  if (value == nullptr || size_of(*value) != 1) return std::nullopt;
  return integer_at(*value, 0);
}
const Engine::Handler* Engine::handler(OperatorId op) {
  static const Handler kHandlers[] = {
      {OperatorId::conditional, &Engine::conditional},
      {OperatorId::loop, &Engine::loop},
      {OperatorId::scan, &Engine::scan},
      {OperatorId::optional, &Engine::optional},
      {OperatorId::optional_get_element, &Engine::optional_get_element},
      {OperatorId::optional_has_element, &Engine::optional_has_element},
      {OperatorId::sequence_at, &Engine::sequence_at},
      {OperatorId::sequence_construct, &Engine::sequence_construct},
      {OperatorId::sequence_empty, &Engine::sequence_empty},
      {OperatorId::sequence_erase, &Engine::sequence_erase},
      {OperatorId::sequence_insert, &Engine::sequence_insert},
      {OperatorId::sequence_length, &Engine::sequence_length},
      {OperatorId::sequence_map, &Engine::sequence_map},
      {OperatorId::split_to_sequence, &Engine::split_to_sequence},
      {OperatorId::concat_from_sequence, &Engine::concat_from_sequence},
  };
  const auto* found =
      std::find_if(std::begin(kHandlers), std::end(kHandlers), [op](const Handler& row) { return row.op == op; });
  return found == std::end(kHandlers) ? nullptr : found;
}

// A known condition takes its branch in place. Otherwise both are walked and the costlier one is kept.
void Engine::conditional(const Statement& statement) {
  if (statement.bodies.size() != 2) throw ShapeError(concat("has ", statement.bodies.size(), " branches, expected 2"));
  const std::string outer = prefix_;
  const auto take = [&](std::size_t branch) {
    const Block& body = statement.bodies[branch];
    if (body.outputs.size() < statement.outputs.size()) {
      throw ShapeError(
          concat("its branch gives ", body.outputs.size(), " outputs, ", statement.outputs.size(), " are read"));
    }
    prefix_ = outer + statement.name + "/";
    walk(body);
    prefix_ = outer;
    std::vector<Slot> outputs;
    for (std::size_t i = 0; i < statement.outputs.size(); ++i) outputs.push_back(slot(body.outputs[i]));
    return outputs;
  };
  const auto keep = [&](std::vector<Slot> outputs) {
    for (std::size_t i = 0; i < outputs.size(); ++i) bind(statement.outputs[i], std::move(outputs[i]));
  };
  if (const auto condition = known_scalar(input_slot(statement, 0))) {
    keep(take(*condition != 0 ? 0 : 1));
    return;
  }
  struct Branch {
    std::vector<Slot> outputs;
    std::vector<Node> nodes;
    Cost cost;
  };
  const Mark start = mark();
  std::optional<Branch> branches[2];
  std::optional<ShapeError> misfit;
  for (std::size_t k = 0; k < 2; ++k) {
    try {
      Branch branch{.outputs = take(k)};
      const auto first = graph_.nodes.begin() + static_cast<std::ptrdiff_t>(start.num_nodes);
      branch.nodes.assign(std::make_move_iterator(first), std::make_move_iterator(graph_.nodes.end()));
      for (const Node& node : branch.nodes) branch.cost += cost_of(graph_, node);
      graph_.nodes.resize(start.num_nodes);
      branches[k] = std::move(branch);
    } catch (const ShapeError& error) {  // at these sizes the network cannot go this way
      if (misfit) throw *misfit;
      misfit = error;
      rewind(start);
    }
  }
  const auto weight = [](const Cost& cost) {
    return std::pair(cost.flops, static_cast<double>(cost.bytes_in) + static_cast<double>(cost.bytes_out));
  };
  const bool takes_else = !branches[0] || (branches[1] && weight(branches[1]->cost) > weight(branches[0]->cost));
  Branch& chosen = *branches[takes_else ? 1 : 0];
  std::move(chosen.nodes.begin(), chosen.nodes.end(), std::back_inserter(graph_.nodes));
  keep(std::move(chosen.outputs));
  graph_.warnings.push_back(concat(name_of(statement), ": its condition depends on the data; predicted for ",
                                   misfit ? "the only branch that fits these sizes, " : "the costlier branch, ",
                                   takes_else ? "'else'" : "'then'"));
}

}  // namespace latpred::shapes
