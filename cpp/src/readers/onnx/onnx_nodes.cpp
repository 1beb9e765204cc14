#include <algorithm>
#include <array>
#include <utility>

#include "latpred/text.h"
#include "readers/onnx/onnx_lowering.h"
#include "readers/onnx/onnx_operators.h"
#include "readers/onnx/onnx_versions.h"

namespace latpred::readers {
namespace {

// Longer texts are data (a tokenizer, a table), no setting.
constexpr std::size_t kMaxTextSize = 4096;

// Weights and zero points that operators take as bytes, whatever the width of a number.
struct PackedInput {
  OperatorId op;
  std::size_t index;
};
constexpr std::array kPackedInputs{PackedInput{OperatorId::matmul_nbits, 1}, PackedInput{OperatorId::matmul_nbits, 3},
                                   PackedInput{OperatorId::gather_block_quantized, 0},
                                   PackedInput{OperatorId::gather_block_quantized, 3}};

}  // namespace

// `pending`: names that are bound already and must be made here (a function's outputs).
void Lowering::define_outputs(const NodeList& list, Scope& scope, std::unordered_set<std::string_view>* pending) {
  for (const NodeMessage& node : list.nodes) {
    for (std::uint32_t i = node.outputs.first; i < node.outputs.second; ++i) {
      const std::string_view name = list.outputs[i];
      if (name.empty()) continue;
      const auto [entry, is_new] = scope.names.emplace(name, kAbsent);
      if (is_new) {
        *entry = add_variable(name, scope);
        continue;
      }
      if (pending != nullptr && pending->erase(name) == 1) continue;
      source_.fail(concat("'", name, "' is made twice: node '", node_name(list, node, scope), "' (", node.op_type,
                          ") at byte ", node.offset, " is not its first source"),
                   node.offset);
    }
  }
}

void Lowering::lower_nodes(const NodeList& list, Scope& scope, Builder& builder) {
  for (const NodeMessage& node : list.nodes) lower_node(list, node, scope, builder);
}

void Lowering::lower_node(const NodeList& list, const NodeMessage& node, Scope& scope, Builder& builder) {
  if (++num_lowered_ > limits_.max_nodes) {
    source_.fail(
        concat("graph has more than ", grouped_digits(limits_.max_nodes),
               " nodes with its bodies and functions, limit ", grouped_digits(limits_.max_nodes), " (max_nodes)"),
        node.offset);
  }
  Statement statement{.op = onnx_operator(node.domain, node.op_type)};
  statement.outputs.reserve(node.outputs.second - node.outputs.first);
  for (std::uint32_t i = node.outputs.first; i < node.outputs.second; ++i) {
    const VariableId* const id = list.outputs[i].empty() ? &kAbsent : scope.names.find(list.outputs[i]);
    if (id == nullptr) source_.fail(concat("'", list.outputs[i], "' is made by no node that was read"), node.offset);
    statement.outputs.push_back(*id);
  }
  if (statement.op == OperatorId::constant && node.domain.empty()) {
    if (statement.outputs.size() == 1 && statement.outputs.front() != kAbsent) {
      lower_constant(list, node, scope, statement.outputs.front());
    }
    return;
  }
  statement.inputs.reserve(node.inputs.second - node.inputs.first);
  for (std::uint32_t i = node.inputs.first; i < node.inputs.second; ++i) {
    const std::string_view name = list.inputs[i];
    if (name.empty()) {
      statement.inputs.push_back(kAbsent);
      continue;
    }
    const VariableId* const id = scope.find(name);
    if (id == nullptr) {
      source_.fail(concat("node '", node_name(list, node, scope), "' (", node.op_type, ") at byte ", node.offset,
                          " reads '", name, "', which nothing in the file makes"),
                   node.offset);
    }
    statement.inputs.push_back(*id);
  }
  statement.name = node_name(list, node, scope);
  // Functions of the standard that the operator table knows stay whole, even where the file spells them out.
  if (statement.op == OperatorId::unknown) {
    if (Function* const function = find_function(node)) {
      lower_call(list, node, *function, std::move(statement), scope, builder);
      return;
    }
  }
  statement.source_operator = qualified_name(node.domain, node.op_type);
  std::vector<VariableId> captures;
  for (std::uint32_t i = node.attributes.first; i < node.attributes.second; ++i) {
    lower_attribute(node, list.attributes[i], scope, statement, captures);
  }
  for (const PackedInput& packed : kPackedInputs) {
    if (statement.op != packed.op || packed.index >= statement.inputs.size()) continue;
    const VariableId input = statement.inputs[packed.index];
    if (input != kAbsent) unpack(variable(input), statement.attributes.integer("bits", 4));
  }
  if (statement.op == OperatorId::conditional && statement.bodies.size() != 2) {
    source_.fail(concat("node '", statement.name, "' (If) needs then_branch and else_branch"), node.offset);
  }
  if (node.domain.empty() && statement.op != OperatorId::unknown) {
    normalize_version(source_, version_of(node, scope), statement);
    has_training_node_ =
        has_training_node_ || (statement.op == OperatorId::batch_norm && statement.attributes.has("training_mode") &&
                               statement.attributes.integer("training_mode", 0) != 0);
  }
  append(std::move(statement), builder, captures);
}

void Lowering::append(Statement statement, Builder& builder, const std::vector<VariableId>& captures) {
  for (const VariableId captured : captures) builder.captures.push_back({builder.block.statements.size(), captured});
  builder.block.statements.push_back(std::move(statement));
}

Scope* Lowering::resolve_attribute(Message message, Scope& scope) {
  parse_attribute(source_, message, attribute_);
  if (attribute_.reference.empty()) return &scope;
  const std::string_view name = attribute_.name;
  if (scope.attributes != nullptr) {
    for (const BoundAttribute& bound : *scope.attributes) {
      if (bound.name != attribute_.reference) continue;
      parse_attribute(source_, bound.message, attribute_);
      attribute_.name = name;
      return bound.scope;
    }
  }
  return nullptr;
}

void Lowering::lower_attribute(const NodeMessage& node, Message message, Scope& scope, Statement& statement,
                               std::vector<VariableId>& captures) {
  Scope* const names = resolve_attribute(message, scope);
  if (names == nullptr) return;  // the function's caller left it out: the operator's default holds
  const AttributeMessage& attribute = attribute_;
  if (attribute.name == "consumed_inputs") return;  // a memory hint of opset 1
  std::string name(attribute.name);
  const bool is_setting = attribute.list_size <= kMaxFoldedElements;
  switch (attribute.kind) {
    case AttributeKind::real:
      statement.attributes.set(std::move(name), attribute.real);
      break;
    case AttributeKind::integer:
      statement.attributes.set(std::move(name), attribute.integer);
      break;
    case AttributeKind::text:
      if (attribute.text.size() <= kMaxTextSize && is_utf8(attribute.text)) {
        statement.attributes.set(std::move(name), std::string(attribute.text));
      }
      break;
    case AttributeKind::reals:
      if (is_setting) statement.attributes.set(std::move(name), attribute.reals);
      break;
    case AttributeKind::integers:
      if (is_setting) statement.attributes.set(std::move(name), attribute.integers);
      break;
    case AttributeKind::texts: {
      const bool is_text = std::all_of(attribute.texts.begin(), attribute.texts.end(), [](std::string_view text) {
        return text.size() <= kMaxTextSize && is_utf8(text);
      });
      if (is_setting && is_text) {
        statement.attributes.set(std::move(name),
                                 std::vector<std::string>(attribute.texts.begin(), attribute.texts.end()));
      }
      break;
    }
    case AttributeKind::tensor: {
      // A rule sees the elements as a list, and their type beside it.
      const TensorMessage tensor = parse_tensor(source_, attribute.tensor);
      statement.attributes.set(name + "_dtype", static_cast<std::int64_t>(tensor.dtype));
      if (const auto value = decode_value(source_, tensor)) {
        if (dtype_row(value->dtype).is_floating) {
          statement.attributes.set(std::move(name), value->reals);
        } else {
          statement.attributes.set(std::move(name), value->integers);
        }
      }
      break;
    }
    case AttributeKind::graph:
    case AttributeKind::graphs: {
      // Whatever their order in the file, the branch that is taken when the condition holds comes first.
      const bool goes_first = attribute.name == "then_branch";
      const std::vector<Message> graphs = attribute.graphs;  // lowering a body overwrites attribute_
      for (const Message graph : graphs) {
        Block body = lower_body(graph, *names, captures);
        statement.bodies.insert(goes_first ? statement.bodies.begin() : statement.bodies.end(), std::move(body));
      }
      break;
    }
    case AttributeKind::sparse_tensor:
    case AttributeKind::sparse_tensors:
      source_.fail(concat("attribute '", attribute.name, "' of node '", statement.name, "' (", node.op_type,
                          ") is a sparse tensor, which is not read; store it as a dense one"),
                   node.offset);
    case AttributeKind::tensors:
    case AttributeKind::type:
    case AttributeKind::types:
    case AttributeKind::undefined:
      break;  // no operator's shape depends on these
  }
}

Block Lowering::lower_body(Message message, Scope& around, std::vector<VariableId>& captures) {
  Scope scope{.parent = &around,
              .versions = around.versions,
              .attributes = around.attributes,
              .prefix = around.prefix,
              .depth = around.depth + 1};
  Block body = lower_graph(message, scope, false);
  captures.insert(captures.end(), scope.captures.begin(), scope.captures.end());
  return body;
}

void Lowering::lower_constant(const NodeList& list, const NodeMessage& node, Scope& scope, VariableId output) {
  for (std::uint32_t i = node.attributes.first; i < node.attributes.second; ++i) {
    if (resolve_attribute(list.attributes[i], scope) == nullptr) continue;
    Variable& constant = variable(output);
    const AttributeMessage& attribute = attribute_;
    const auto set = [&](DType dtype, bool is_scalar, Value value) {
      constant.dtype = dtype;
      constant.is_stored = constant.has_shape = true;
      constant.dimensions.clear();
      if (!is_scalar) constant.dimensions.push_back({attribute.list_size, {}});
      value.dtype = dtype;
      if (!is_scalar) value.shape = {attribute.list_size};
      if (attribute.list_size <= kMaxFoldedElements) constant.value = std::make_shared<Value>(std::move(value));
    };
    switch (attribute.kind) {
      case AttributeKind::tensor: {
        const TensorMessage tensor = parse_tensor(source_, attribute.tensor);
        store(source_, tensor, constant);
        note_external(tensor);
        return;
      }
      case AttributeKind::real:
        return set(DType::float32, true, {.reals = {attribute.real}});
      case AttributeKind::integer:
        return set(DType::int64, true, {.integers = {attribute.integer}});
      case AttributeKind::reals:
        return set(DType::float32, false, {.reals = attribute.reals});
      case AttributeKind::integers:
        return set(DType::int64, false, {.integers = attribute.integers});
      case AttributeKind::text:
        set(DType::string, true, {});
        constant.value = nullptr;
        return;
      case AttributeKind::texts:
        set(DType::string, false, {});
        constant.value = nullptr;
        return;
      case AttributeKind::sparse_tensor:
        source_.fail(concat("constant '", constant.name, "' is sparse, which is not read; store it as a dense tensor"),
                     node.offset);
      default:
        break;
    }
  }
  source_.fail(concat("constant '", variable(output).name, "' at byte ", node.offset, " has no value"), node.offset);
}

void Lowering::lower_call(const NodeList& list, const NodeMessage& node, Function& function, Statement call,
                          Scope& scope, Builder& builder) {
  const FunctionMessage& message = function.message;
  const std::string name = qualified_name(message.domain, message.name);
  if (function.is_active) {
    source_.fail(concat("function '", name, "' calls itself; ONNX allows no recursion"), message.offset);
  }
  check_depth(scope.depth + 1);
  if (call.inputs.size() > message.inputs.size() || call.outputs.size() > message.outputs.size()) {
    source_.fail(
        concat("node '", call.name, "' gives function '", name, "' ", call.inputs.size(), " inputs and ",
               call.outputs.size(), " outputs; it has ", message.inputs.size(), " and ", message.outputs.size()),
        node.offset);
  }

  std::vector<BoundAttribute> attributes;
  for (std::uint32_t i = node.attributes.first; i < node.attributes.second; ++i) {
    // A reference is followed now: the function's nodes know the call's names only.
    parse_attribute(source_, list.attributes[i], attribute_);
    const std::string_view given = attribute_.name;
    if (attribute_.reference.empty()) {
      attributes.push_back({given, list.attributes[i], &scope});
      continue;
    }
    if (scope.attributes == nullptr) continue;
    for (const BoundAttribute& bound : *scope.attributes) {
      if (bound.name == attribute_.reference) attributes.push_back({given, bound.message, bound.scope});
    }
  }
  Scope inner{.versions = message.versions.empty() ? scope.versions : &message.versions,
              .attributes = &attributes,
              .prefix = concat(call.name, "/"),
              .depth = scope.depth + 1};
  for (const Message standard : message.default_attributes) {
    parse_attribute(source_, standard, attribute_);
    const auto is_same = [&](const BoundAttribute& bound) { return bound.name == attribute_.name; };
    if (std::none_of(attributes.begin(), attributes.end(), is_same)) {
      attributes.push_back({attribute_.name, standard, &inner});
    }
  }

  for (std::size_t i = 0; i < message.inputs.size(); ++i) {
    inner.names.emplace(message.inputs[i], i < call.inputs.size() ? call.inputs[i] : kAbsent);
  }
  std::unordered_set<std::string_view> pending;
  std::vector<std::pair<VariableId, VariableId>> passed_through;  // from, to
  for (std::size_t i = 0; i < message.outputs.size(); ++i) {
    const bool is_used = i < call.outputs.size() && call.outputs[i] != kAbsent;
    if (!is_used) continue;
    const auto [entry, is_new] = inner.names.emplace(message.outputs[i], call.outputs[i]);
    if (is_new) {
      pending.insert(message.outputs[i]);
    } else {
      passed_through.emplace_back(*entry, call.outputs[i]);
    }
  }
  define_outputs(function.nodes, inner, &pending);
  if (!pending.empty()) {
    source_.fail(concat("output '", *pending.begin(), "' of function '", name, "' is made by no node"), message.offset);
  }

  function.is_active = true;
  lower_nodes(function.nodes, inner, builder);
  function.is_active = false;
  for (const auto& [from, to] : passed_through) {
    append({.op = OperatorId::identity,
            .source_operator = "Identity",
            .name = variable(to).name,
            .inputs = {from},
            .outputs = {to}},
           builder);
  }
}

std::int64_t Lowering::version_of(const NodeMessage& node, const Scope& scope) {
  for (const OpsetVersions* versions : {scope.versions, static_cast<const OpsetVersions*>(&versions_)}) {
    for (const auto& [domain, version] : *versions) {
      if (domain == node.domain) return version;
    }
  }
  source_.fail(concat("node '", node.name, "' (", node.op_type,
                      ") is of ONNX's own domain, of which the file states no version (opset_import)"),
               node.offset);
}

// A node without a name goes by its first result's.
std::string Lowering::node_name(const NodeList& list, const NodeMessage& node, const Scope& scope) const {
  std::string_view name = node.name;
  for (std::uint32_t i = node.outputs.first; i < node.outputs.second && name.empty(); ++i) name = list.outputs[i];
  std::string result;
  result.reserve(scope.prefix.size() + name.size());
  return result.append(scope.prefix).append(name);
}

}  // namespace latpred::readers
