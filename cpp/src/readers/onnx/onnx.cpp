#include "readers/onnx/onnx.h"

#include <filesystem>
#include <utility>

#include "latpred/text.h"
#include "readers/onnx/onnx_lowering.h"
#include "readers/onnx/onnx_versions.h"

namespace latpred::readers {

std::string qualified_name(std::string_view domain, std::string_view name) {
  return domain.empty() ? std::string(name) : concat(domain, "::", name);
}

Program Lowering::run() {
  const ModelMessage model = parse_model(source_);
  if (!model.has_graph) source_.fail("the ONNX model has no graph; save it again from the tool that made it");
  read_header(model);
  read_functions(model);
  Scope scope{.versions = &versions_};
  program_.main = lower_graph(model.graph, scope, true);
  warn_of_external();
  if (model.has_training_info) {
    program_.warnings.emplace_back("the file holds training information, which is left out: inference is predicted");
  }
  if (has_training_node_) {
    program_.warnings.emplace_back("the graph was saved in training mode; inference is predicted");
  }
  return std::move(program_);
}

void Lowering::read_header(const ModelMessage& model) {
  versions_ = model.versions;
  // Versions of operators came with IR version 3; before there was only the first.
  constexpr std::int64_t kFirstIrWithOpsets = 3;
  if (versions_.empty() && model.ir_version < kFirstIrWithOpsets) versions_.emplace_back("", 1);
  if (versions_.empty()) {
    source_.fail("the ONNX model states no operator versions (opset_import); save it again from the tool that made it");
  }
  std::string format = concat("ONNX IR ", model.ir_version);
  for (const auto& [domain, version] : versions_) {
    format += domain.empty() ? concat(", opset ", version) : concat(", ", domain, " ", version);
    if (domain.empty() && version > kNewestOpset) {
      program_.warnings.push_back(concat("the file uses opset ", version, ", newer than ", kNewestOpset,
                                         ", the newest known to this version; operators are read as of opset ",
                                         kNewestOpset));
    }
  }
  program_.source.path = source_.path;
  program_.source.framework = "onnx";
  program_.source.format = std::move(format);
  program_.source.producer = model.producer_name;
  if (!model.producer_version.empty()) program_.source.producer += concat(" ", model.producer_version);
}

void Lowering::read_functions(const ModelMessage& model) {
  for (const Message message : model.functions) {
    FunctionMessage function = parse_function(source_, message);
    NodeList nodes = parse_nodes(source_, function.nodes);
    std::string key = qualified_name(function.domain, function.name);
    const std::int64_t offset = function.offset;
    if (!function.overload.empty()) key += concat(":", function.overload);
    if (!functions_.emplace(key, Function{std::move(function), std::move(nodes)}).second) {
      source_.fail(concat("function '", key, "' is defined twice, the second time at byte ", offset), offset);
    }
  }
}

Lowering::Function* Lowering::find_function(const NodeMessage& node) {
  if (functions_.empty()) return nullptr;
  std::string key = qualified_name(node.domain, node.op_type);
  if (!node.overload.empty()) key += concat(":", node.overload);
  const auto found = functions_.find(key);
  return found != functions_.end() ? &found->second : nullptr;
}

void Lowering::check_depth(std::int64_t depth) const {
  if (depth > limits_.max_depth) {
    source_.fail(concat("graphs and function calls are nested deeper than ", limits_.max_depth, " (max_depth)"));
  }
}

Block Lowering::lower_graph(Message message, Scope& scope, bool is_main) {
  check_depth(scope.depth);
  const GraphMessage graph = parse_graph(source_, message);
  const auto num_nodes = static_cast<std::int64_t>(graph.nodes.size());
  if (num_nodes > limits_.max_nodes) {
    source_.fail(concat("graph has ", grouped_digits(num_nodes), " nodes, limit ", grouped_digits(limits_.max_nodes),
                        " (max_nodes)"));
  }
  if (!graph.sparse_initializers.empty()) {
    source_.fail(concat("the graph holds ", graph.sparse_initializers.size(),
                        " sparse initializers, which are not read; store them as dense tensors"),
                 source_.offset_of(graph.sparse_initializers.front().data()));
  }
  const NodeList list = parse_nodes(source_, graph.nodes);
  const std::size_t num_names = graph.initializers.size() + graph.inputs.size() + list.outputs.size();
  scope.names.reserve(num_names);
  program_.variables.reserve(program_.variables.size() + (is_main ? num_names : 0));

  Builder builder;
  lower_initializers(graph, scope);
  lower_inputs(graph, scope, is_main, builder.block);
  define_outputs(list, scope, nullptr);
  for (const Message value_info : graph.value_infos) declare(value_info, scope);
  for (const Message output : graph.outputs) declare(output, scope);
  if (is_main) count_operators(list);

  builder.block.statements.reserve(list.nodes.size());
  lower_nodes(list, scope, builder);
  for (const Message output : graph.outputs) {
    const ValueMessage value = parse_value(source_, output);
    const VariableId* const id = scope.find(value.name);
    if (id == nullptr || *id == kAbsent) {
      source_.fail(concat("output '", value.name, "' of the graph is made by no node"), value.offset);
    }
    builder.block.outputs.push_back(*id);
  }
  sort_statements(source_, program_.variables, builder.captures, producers_, builder.block);
  return std::move(builder.block);
}

void Lowering::count_operators(const NodeList& list) {
  program_.source.num_nodes = static_cast<std::int64_t>(list.nodes.size());
  std::unordered_map<std::string_view, std::int64_t> own;  // nearly all are: no string is made for them
  for (const NodeMessage& node : list.nodes) {
    if (node.domain.empty()) {
      ++own[node.op_type];
    } else {
      ++program_.source.operator_counts[qualified_name(node.domain, node.op_type)];
    }
  }
  for (const auto& [name, count] : own) program_.source.operator_counts[std::string(name)] += count;
}

void Lowering::lower_initializers(const GraphMessage& graph, Scope& scope) {
  for (const Message message : graph.initializers) {
    const TensorMessage tensor = parse_tensor(source_, message);
    const VariableId id = add_variable(tensor.name, scope);
    if (!scope.names.emplace(tensor.name, id).second) {
      source_.fail(concat("initializer '", tensor.name, "' is stored twice, the second time at byte ", tensor.offset),
                   tensor.offset);
    }
    store(source_, tensor, variable(id));
    note_external(tensor);
  }
}

void Lowering::lower_inputs(const GraphMessage& graph, Scope& scope, bool is_main, Block& block) {
  for (const Message message : graph.inputs) {
    const std::string_view name = parse_value_name(source_, message);
    const auto [entry, is_new] = scope.names.emplace(name, kAbsent);
    if (!is_new) {
      if (variable(*entry).is_stored) continue;  // an initializer
      const std::int64_t offset = source_.offset_of(message.data());
      source_.fail(concat("input '", name, "' is listed twice, the second time at byte ", offset), offset);
    }
    ValueMessage value = parse_value(source_, message);
    if (is_main && value.type.kind != "tensor") {
      source_.fail(concat("input '", value.name, "' is a ", value.type.kind,
                          "; networks of tensors are read: give its parts as inputs of their own"),
                   value.offset);
    }
    *entry = add_variable(value.name, scope);
    Variable& input = variable(*entry);
    input.dtype = value.type.dtype;
    input.is_sequence = value.type.is_sequence;
    input.has_shape = value.type.has_shape;
    input.dimensions = std::move(value.type.dimensions);
    block.inputs.push_back(*entry);
  }
}

void Lowering::declare(Message message, Scope& scope) {
  ValueMessage value = parse_value(source_, message);
  const VariableId* const found = scope.names.find(value.name);
  if (found == nullptr || *found == kAbsent) return;  // of a node that was taken out, or of a body
  Variable& declared = variable(*found);
  if (declared.is_stored) return;
  if (value.type.dtype != DType::undefined) declared.dtype = value.type.dtype;
  declared.is_sequence = value.type.is_sequence;
  if (!value.type.has_shape) return;
  declared.has_shape = true;
  declared.dimensions = std::move(value.type.dimensions);
}

VariableId Lowering::add_variable(std::string_view name, const Scope& scope) {
  Variable& added = program_.variables.emplace_back();
  added.name.reserve(scope.prefix.size() + name.size());
  added.name.append(scope.prefix).append(name);
  return static_cast<VariableId>(program_.variables.size() - 1);
}

void Lowering::note_external(const TensorMessage& tensor) {
  if (!tensor.is_external || external_locations_.contains(tensor.location)) return;
  external_locations_.emplace(tensor.location);
}

// Sizes are all that is read, so content that is not there changes no answer; the user may want to know all the same.
void Lowering::warn_of_external() {
  namespace fs = std::filesystem;
  for (const std::string& location : external_locations_) {
    std::error_code ignored;
    if (fs::exists(fs::path(source_.path).parent_path() / location, ignored)) continue;
    program_.warnings.push_back(
        concat("the file of weights '", location, "' is missing; their sizes are known from the model itself"));
  }
}

Program read_onnx(const Source& source, const ReaderLimits& limits) { return Lowering(source, limits).run(); }

}  // namespace latpred::readers
