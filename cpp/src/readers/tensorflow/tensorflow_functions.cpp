#include <algorithm>
#include <charconv>
#include <utility>

#include "latpred/text.h"
#include "readers/order.h"
#include "readers/tensorflow/tensorflow_defaults.h"
#include "readers/tensorflow/tensorflow_lowering.h"
#include "readers/tensorflow/tensorflow_operators.h"
#include "readers/tensorflow/tensorflow_tensors.h"

// Functions and the nodes in them.
namespace latpred::readers::tensorflow {
namespace {

// "node", "node:2" in graphs; "argument", "node:result:2" in functions.
struct ResultName {
  std::string_view node;
  std::string_view result;  // "" in graphs
  std::uint32_t index = 0;
};

ResultName split_name(const Source& source, std::string_view text, std::int64_t offset) {
  ResultName name;
  const std::size_t first = text.find(':');
  name.node = text.substr(0, first);
  if (first == std::string_view::npos) return name;
  const std::size_t last = text.rfind(':');
  if (last != first) name.result = text.substr(first + 1, last - first - 1);
  const std::string_view number = text.substr(last + 1);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), name.index);
  if (error != std::errc() || end != number.data() + number.size()) {
    source.fail(concat("'", text, "' names no result of a node"), offset);
  }
  return name;
}

std::optional<std::uint32_t> position_in(std::string_view names, std::string_view name) {
  std::uint32_t position = 0;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(','), names.size());
    if (names.substr(0, end) == name) return position;
    names.remove_prefix(std::min(end + 1, names.size()));
    ++position;
  }
  return std::nullopt;
}

}  // namespace

void Lowering::read_library(const std::vector<Message>& functions) {
  for (const Message message : functions) {
    FunctionMessage function = parse_function(source_, message);
    const std::string_view name = function.name;
    const std::int64_t offset = function.offset;
    if (!functions_.emplace(name, std::move(function)).second) {
      source_.fail(concat("function '", name, "' is defined twice, the second time at byte ", offset), offset);
    }
  }
}

std::uint32_t Lowering::result_index(std::string_view op, std::string_view result, std::string_view text,
                                     std::int64_t offset) {
  if (result.empty()) return 0;
  if (const RegistryRow* const row = registry_row(op)) {
    if (const auto position = position_in(row->results, result)) return *position;
  }
  const auto position_of = [&](const std::vector<std::string_view>& names) -> std::optional<std::uint32_t> {
    const auto found = std::find(names.begin(), names.end(), result);
    if (found == names.end()) return std::nullopt;
    return static_cast<std::uint32_t>(found - names.begin());
  };
  if (const auto function = functions_.find(op); function != functions_.end()) {
    if (const auto position = position_of(function->second.results)) return *position;
  }
  // An operator that this version does not know: the file lists what it uses.
  if (!operator_results_) operator_results_ = parse_results(source_, operators_);
  if (const auto names = operator_results_->find(op); names != operator_results_->end()) {
    if (const auto position = position_of(names->second)) return *position;
  }
  source_.fail(concat("'", text, "' names a result '", result, "' that operator '", op, "' does not have"), offset);
}

void Lowering::look_up(Body& body) {
  std::unordered_map<std::string_view, std::int32_t> nodes;
  nodes.reserve(body.list.nodes.size());
  for (std::size_t i = 0; i < body.list.nodes.size(); ++i) {
    const NodeMessage& node = body.list.nodes[i];
    if (!nodes.emplace(node.name, static_cast<std::int32_t>(i)).second) {
      source_.fail(concat("two nodes are called '", node.name, "', the second at byte ", node.offset), node.offset);
    }
  }
  std::unordered_map<std::string_view, std::uint32_t> arguments;
  for (std::size_t i = 0; i < body.arguments.size(); ++i) {
    if (!arguments.emplace(body.arguments[i], static_cast<std::uint32_t>(i)).second) {
      source_.fail(concat("function '", body.name, "' has two arguments '", body.arguments[i], "'"));
    }
  }
  const auto resolve = [&](std::string_view text, std::int64_t offset, std::string_view reader) -> Reference {
    if (const auto argument = arguments.find(text); argument != arguments.end()) return {-1, argument->second};
    const ResultName name = split_name(source_, text, offset);
    const auto found = nodes.find(name.node);
    if (found == nodes.end()) {
      source_.fail(
          concat(reader, " reads '", text, "', which nothing in ",
                 body.name.empty() ? std::string("the graph") : concat("function '", body.name, "'"), " makes"),
          offset);
    }
    const std::string_view op = body.list.nodes[static_cast<std::size_t>(found->second)].op;
    const std::uint32_t first = body.name.empty() ? 0 : result_index(op, name.result, text, offset);
    constexpr std::uint32_t kMostResults = 1U << 20;
    if (name.index > kMostResults) source_.fail(concat("'", text, "' names no result of a node"), offset);
    return {found->second, first + name.index};
  };
  body.references.reserve(body.list.inputs.size());
  for (const NodeMessage& node : body.list.nodes) {
    for (std::uint32_t i = node.inputs.first; i < node.inputs.second; ++i) {
      body.references.push_back(resolve(body.list.inputs[i], node.offset, concat("node '", node.name, "'")));
    }
  }
  const auto function = functions_.find(body.name);
  if (body.name.empty() || function == functions_.end()) return;
  for (const std::string_view result : function->second.results) {
    const auto& returned = function->second.returned;
    const auto found =
        std::find_if(returned.begin(), returned.end(), [&](const auto& entry) { return entry.first == result; });
    if (found == returned.end()) {
      source_.fail(concat("function '", body.name, "' gives nothing for its result '", result, "'"),
                   function->second.offset);
    }
    body.results.push_back(resolve(found->second, function->second.offset, concat("function '", body.name, "'")));
  }
}

void Lowering::put_in_order(Body& body, const std::vector<Reference>& roots) {
  Reads reads;
  reads.first.reserve(body.list.nodes.size() + 1);
  reads.first.push_back(0);
  for (const NodeMessage& node : body.list.nodes) reads.first.push_back(node.inputs.second);
  reads.producers.reserve(body.references.size());
  for (const Reference reference : body.references) reads.producers.push_back(reference.node);
  std::vector<std::size_t> nodes;
  for (const Reference root : roots) {
    if (root.node >= 0) nodes.push_back(static_cast<std::size_t>(root.node));
  }
  Order order = order_of(reads, nodes);
  if (order.cycle) {
    const auto [reader, read] = *order.cycle;
    const NodeMessage& node = body.list.nodes[reader];
    const std::string_view text = body.list.inputs[node.inputs.first + read];
    source_.fail(concat("the graph has a cycle: node '", node.name, "' reads '", text,
                        "', which is made from its result; loops of TensorFlow 1 (Enter, NextIteration) are not read: "
                        "export with TensorFlow 2"),
                 node.offset);
  }
  body.order = std::move(order.nodes);
  body.places.assign(body.list.nodes.size(), -1);
  for (std::size_t i = 0; i < body.order.size(); ++i) body.places[body.order[i]] = static_cast<std::int32_t>(i);
}

Body& Lowering::function(const Node& node, std::string_view name) {
  if (const auto known = bodies_.find(name); known != bodies_.end()) return known->second;
  const auto found = functions_.find(name);
  if (found == functions_.end()) node.fail(concat("calls function '", name, "', which the file does not hold"));
  Body& body = bodies_[name];
  body.name = found->first;
  body.arguments = found->second.arguments;
  check_size(found->second.nodes);
  body.list = parse_nodes(source_, found->second.nodes);
  look_up(body);
  put_in_order(body, body.results);
  return body;
}

std::vector<VariableId> Lowering::call(const Node& node, std::string_view name,
                                       const std::vector<VariableId>& arguments) {
  Body& body = function(node, name);
  if (body.is_active) node.fail(concat("calls function '", name, "', which calls itself; recursion is not read"));
  if (depth_ >= limits_.max_depth) {
    node.fail(concat("calls functions nested deeper than ", limits_.max_depth, " (max_depth)"));
  }
  if (arguments.size() != body.arguments.size()) {
    node.fail(concat("gives function '", name, "' ", arguments.size(), " arguments; it has ", body.arguments.size()));
  }
  body.is_active = true;
  ++depth_;
  const auto values = walk(body, arguments);
  --depth_;
  body.is_active = false;
  std::vector<VariableId> results;
  results.reserve(body.results.size());
  for (const Reference reference : body.results) results.push_back(value_of(body, values, arguments, reference));
  return results;
}

VariableId Lowering::value_of(const Body& body, const std::vector<std::vector<VariableId>>& values,
                              const std::vector<VariableId>& arguments, Reference reference) const {
  if (reference.node < 0) return arguments.at(reference.index);
  const std::int32_t place = body.places[static_cast<std::size_t>(reference.node)];
  const auto& results = values[static_cast<std::size_t>(place)];
  if (reference.index >= results.size()) {
    const NodeMessage& node = body.list.nodes[static_cast<std::size_t>(reference.node)];
    source_.fail(concat("result ", reference.index, " of node '", node.name, "' (", node.op, ") is read, which has ",
                        results.size()),
                 node.offset);
  }
  return results[reference.index];
}

std::vector<std::vector<VariableId>> Lowering::walk(Body& body, const std::vector<VariableId>& arguments) {
  std::vector<std::vector<VariableId>> values(body.order.size());
  for (const std::size_t index : body.order) {
    const NodeMessage& node = body.list.nodes[index];
    std::vector<VariableId> inputs;
    inputs.reserve(node.inputs.second - node.inputs.first);
    for (std::uint32_t i = node.inputs.first; i < node.inputs.second; ++i) {
      inputs.push_back(value_of(body, values, arguments, body.references[i]));
    }
    values[static_cast<std::size_t>(body.places[index])] = lower_node(body, node, std::move(inputs));
  }
  return values;
}

std::vector<VariableId> Lowering::lower_node(const Body& body, const NodeMessage& message,
                                             std::vector<VariableId> inputs) {
  if (const auto given = given_.find(message.offset); given != given_.end()) return {given->second};
  Node node(*this, body, message, std::move(inputs));
  count_results(node, 1);
  SourceInfo& info = assembly_.program().source;
  ++info.num_nodes;
  ++info.operator_counts[std::string(message.op)];
  if (const OperatorRow* const row = operator_row(message.op)) {
    row->convert(node);
  } else if (has_function(message.op)) {  // TensorFlow 1 calls a function by its name
    node.set_results(call(node, message.op, node.inputs()));
  } else {
    lower_unknown(node);
  }
  return node.results();
}

void Lowering::lower_unknown(Node& node) {
  std::size_t num_results = 1;
  if (const auto value = node.find("_output_shapes"); value && value->kind == ValueKind::list) {
    num_results = std::max<std::size_t>(1, parse_list(source_, value->content).contents.size());
  } else {
    if (!operator_results_) operator_results_ = parse_results(source_, operators_);
    const auto names = operator_results_->find(node.op());
    if (names != operator_results_->end()) num_results = std::max<std::size_t>(1, names->second.size());
  }
  node.result(OperatorId::unknown, node.inputs(), {}, num_results);
  for (const std::string_view name : {"dtype", "out_type", "T"}) {
    const auto value = node.find(name);
    if (!value || value->kind != ValueKind::type) continue;
    for (const VariableId result : node.results()) {
      assembly_.variable(result).dtype = dtype_of(value->integer);
      noted(result);
    }
    break;
  }
}

void Lowering::lower_constant(Node& node) {
  const auto value = node.find("value");
  if (!value || value->kind != ValueKind::tensor) node.fail("has no value");
  const std::int64_t offset = source_.offset_of(value->content.data());
  if (const auto known = constants_.find(offset); known != constants_.end()) {
    node.alias(known->second);
    return;
  }
  const TensorMessage tensor = parse_tensor(source_, value->content);
  const VariableId stored = assembly_.stored(std::string(node.name()), tensor.dtype, tensor.shape);
  assembly_.variable(stored).value = decode_value(source_, tensor);
  constants_.emplace(offset, stored);
  node.alias(noted(stored));
}

// A variable is what its handle stands for: whoever reads it gets the stored tensor itself, so that it counts once
// however many handles and calls there are.
void Lowering::lower_variable(Node& node) {
  const auto value = node.find("shape");
  std::optional<Shape> sizes;
  if (value && value->kind == ValueKind::shape) {
    const ShapeMessage shape = parse_shape(source_, value->content);
    if (shape.has_rank) sizes.emplace();
    for (const Dimension& dimension : shape.dimensions) {
      if (dimension.size == kUnknownSize) sizes.reset();
      if (sizes) sizes->push_back(dimension.size);
    }
  }
  if (!sizes) node.fail("is a variable whose sizes the file does not say; they would stand in the weights only");
  has_variables_ = true;
  node.alias(noted(assembly_.stored(std::string(node.name()), node.dtype("dtype"), *sizes)));
}

void Lowering::lower_placeholder(Node& node) {
  node.fail("is an input inside of a function, which the format does not have");
}

TensorList* Lowering::list(VariableId variable) {
  const auto found = lists_.find(variable);
  return found != lists_.end() ? &found->second : nullptr;
}

VariableId Lowering::make_list(const Node& node, TensorList list) {
  const VariableId variable = assembly_.result(std::string(node.name()));
  lists_.emplace(variable, list);
  return variable;
}

VariableId Lowering::noted(VariableId variable) {
  probe_.add(variable, assembly_.variable(variable));
  return variable;
}

VariableId Lowering::find_rearranged(const std::string& key) const {
  const auto found = rearranged_.find(key);
  return found != rearranged_.end() ? found->second : kAbsent;
}

// What is made in a body does not exist outside of it.
void Lowering::note_rearranged(const std::string& key, VariableId variable) {
  if (num_open_blocks_ > 0) return;
  rearranged_.emplace(key, variable);
  fixed_.insert(variable);
}

void Lowering::count_results(const Node& node, std::size_t count) {
  num_lowered_ += static_cast<std::int64_t>(count);
  if (num_lowered_ <= limits_.max_nodes) return;
  node.fail(concat("is one too many: the graph has more than ", grouped_digits(limits_.max_nodes),
                   " nodes and results with the functions that it calls, limit ", grouped_digits(limits_.max_nodes),
                   " (max_nodes)"));
}

void Lowering::check_size(const std::vector<Message>& nodes) const {
  const auto count = static_cast<std::int64_t>(nodes.size());
  if (count <= limits_.max_nodes) return;
  source_.fail(
      concat("graph has ", grouped_digits(count), " nodes, limit ", grouped_digits(limits_.max_nodes), " (max_nodes)"));
}

void Lowering::take_declared(VariableId result) {
  if (!probe_.shape(result)) probe_.add(result, assembly_.variable(result));
}

}  // namespace latpred::readers::tensorflow
