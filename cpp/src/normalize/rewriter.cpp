#include "normalize/rewriter.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "latpred/operators.h"
#include "latpred/text.h"
#include "normalize/prune.h"

namespace latpred {
namespace {

constexpr double kTolerance = 1e-3;  // half precision keeps eleven bits

}  // namespace

Rewriter::Rewriter(Graph graph)
    : graph_(std::move(graph)),
      maker_(graph_.tensors.size(), -1),
      is_output_(graph_.tensors.size()),
      alive_(graph_.nodes.size(), 1),
      touched_(graph_.nodes.size()) {
  for (NodeId id = 0; id < num_nodes(); ++id) {
    for (const TensorId made : graph_.nodes[id].outputs) {
      if (made != kAbsent) maker_[made] = id;
    }
  }
  for (const TensorId id : graph_.outputs) is_output_[id] = 1;
}

const std::vector<NodeId>& Rewriter::readers(TensorId id) const {
  if (readers_.empty()) list_readers();
  return readers_[id];
}

void Rewriter::list_readers() const {
  readers_.resize(graph_.tensors.size());
  for (NodeId id = 0; id < num_nodes(); ++id) {
    for (const TensorId input : graph_.nodes[id].inputs) {
      if (input == kAbsent) continue;
      std::vector<NodeId>& readers = readers_[input];
      if (readers.empty() || readers.back() != id) readers.push_back(id);
    }
  }
}

void Rewriter::read(NodeId reader, const std::vector<TensorId>& inputs) {
  if (readers_.empty()) return;
  for (const TensorId id : inputs) {
    if (id == kAbsent) continue;
    std::vector<NodeId>& readers = readers_[id];
    if (std::find(readers.begin(), readers.end(), reader) == readers.end()) readers.push_back(reader);
  }
}

void Rewriter::unread(NodeId reader, const std::vector<TensorId>& inputs) {
  if (readers_.empty()) return;
  for (const TensorId id : inputs) {
    if (id != kAbsent) std::erase(readers_[id], reader);
  }
}

const Node* Rewriter::maker(TensorId id) const {
  return id != kAbsent && maker_[id] >= 0 ? &graph_.nodes[maker_[id]] : nullptr;
}

const Node* Rewriter::maker(TensorId id, OperatorId op) const {
  const Node* found = maker(id);
  return found != nullptr && found->op == op ? found : nullptr;
}

const Node* Rewriter::only_reader(TensorId id) const {
  if (id == kAbsent || is_output(id) || readers(id).size() != 1) return nullptr;
  return &graph_.nodes[readers(id).front()];
}

bool Rewriter::is_stored(TensorId id) const {
  if (id == kAbsent) return false;
  const TensorKind kind = graph_.tensors[id].kind;
  return kind != TensorKind::activation && kind != TensorKind::input;
}

bool Rewriter::is_scalar(TensorId id) const { return is_stored(id) && graph_.tensors[id].num_elements() == 1; }

std::optional<double> Rewriter::number(TensorId id) const {
  if (!is_scalar(id)) return std::nullopt;
  const Value* value = graph_.tensors[id].value.get();
  if (value == nullptr) return std::nullopt;
  if (!value->reals.empty()) return value->reals.front();
  if (!value->integers.empty()) return static_cast<double>(value->integers.front());
  return std::nullopt;
}

bool Rewriter::is_number(TensorId id, double value) const {
  const auto found = number(id);
  return found && std::abs(*found - value) <= kTolerance * std::abs(value);
}

TensorId Rewriter::other_input(const Node& node, TensorId id) {
  if (node.inputs.size() != 2) return kAbsent;
  if (node.inputs[0] == id) return node.inputs[1];
  return node.inputs[1] == id ? node.inputs[0] : kAbsent;
}

bool Rewriter::hand_output_over(TensorId of, TensorId to) {
  if (!is_output(of)) return true;
  if (is_output(to) || graph_.tensors[to].kind != TensorKind::activation) return false;
  std::swap(graph_.tensors[to].name, graph_.tensors[of].name);
  std::replace(graph_.outputs.begin(), graph_.outputs.end(), of, to);
  is_output_[of] = 0;
  is_output_[to] = 1;
  return true;
}

void Rewriter::forward_all(const std::vector<TensorId>& instead) {
  for (NodeId id = 0; id < num_nodes(); ++id) {
    for (TensorId& input : graph_.nodes[id].inputs) {
      if (input == kAbsent || instead[input] == input) continue;
      input = instead[input];
      touched_[id] = 1;
    }
  }
  readers_.clear();
  has_changed_ = true;
}

bool Rewriter::forward(TensorId of, TensorId instead) {
  if (!hand_output_over(of, instead)) return false;
  const std::vector<NodeId> all = readers(of);
  readers_[of].clear();
  for (const NodeId reader : all) {
    std::replace(graph_.nodes[reader].inputs.begin(), graph_.nodes[reader].inputs.end(), of, instead);
    read(reader, {instead});
    touched_[reader] = 1;
  }
  has_changed_ = true;
  return true;
}

void Rewriter::drop(NodeId id) {
  Node& node = graph_.nodes[id];
  unread(id, node.inputs);
  for (const TensorId made : node.outputs) {
    if (made != kAbsent && maker_[made] == id) maker_[made] = -1;
  }
  node.inputs.clear();
  node.outputs.clear();
  alive_[id] = 0;
  has_changed_ = true;
}

void Rewriter::replace(const std::vector<NodeId>& members, Node made) {
  const NodeId last = members.back();
  std::vector<std::string> sources;
  for (const NodeId id : members) {
    const std::string& source = graph_.nodes[id].source_operator;
    if (!source.empty()) sources.push_back(source);
  }
  made.name = graph_.nodes[last].name;
  made.source_operator = join(sources, "+");
  made.repeat = graph_.nodes[last].repeat;
  made.outputs = graph_.nodes[last].outputs;
  for (const NodeId id : members) drop(id);
  graph_.nodes[last] = std::move(made);
  alive_[last] = 1;
  touched_[last] = 1;
  read(last, graph_.nodes[last].inputs);
  for (const TensorId id : graph_.nodes[last].outputs) {
    if (id != kAbsent) maker_[id] = last;
  }
}

void Rewriter::set_inputs(NodeId id, std::vector<TensorId> inputs) {
  unread(id, graph_.nodes[id].inputs);
  graph_.nodes[id].inputs = std::move(inputs);
  read(id, graph_.nodes[id].inputs);
  touched_[id] = 1;
  has_changed_ = true;
}

Attributes& Rewriter::attributes(NodeId id) {
  touched_[id] = 1;
  has_changed_ = true;
  return graph_.nodes[id].attributes;
}

void Rewriter::touch_around(TensorId id) {
  has_changed_ = true;
  if (maker_[id] >= 0) touched_[maker_[id]] = 1;
  for (const NodeId reader : readers(id)) touched_[reader] = 1;
}

Graph Rewriter::finish() {
  if (!has_changed_) return std::move(graph_);
  for (NodeId id = 0; id < num_nodes(); ++id) {
    if (alive_[id] != 0 && touched_[id] != 0) graph_.nodes[id].cost = cost_of(graph_, graph_.nodes[id]);
  }
  prune(graph_);
  return std::move(graph_);
}

}  // namespace latpred
