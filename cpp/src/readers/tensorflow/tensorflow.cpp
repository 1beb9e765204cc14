#include "readers/tensorflow/tensorflow.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "latpred/text.h"
#include "readers/tensorflow/batch_norm_pattern.h"
#include "readers/tensorflow/tensorflow_lowering.h"
#include "readers/tensorflow/tensorflow_operators.h"

namespace latpred::readers {
namespace tensorflow {
namespace {

constexpr std::string_view kServe = "serve";
constexpr std::string_view kServingDefault = "serving_default";
constexpr std::string_view kInitializer = "__saved_model_init_op";

std::string quoted(const std::vector<std::string_view>& names) {
  std::vector<std::string> words;
  for (const std::string_view name : names) words.push_back(concat("'", name, "'"));
  return words.empty() ? "none" : join(words);
}

// The graph for serving, else the only one.
Message choose_meta_graph(const Source& source, const SavedModelMessage& model) {
  if (model.meta_graphs.empty()) {
    source.fail("the SavedModel holds no graph; save it again with tf.saved_model.save");
  }
  std::vector<std::string> found;
  for (const Message message : model.meta_graphs) {
    const std::vector<std::string_view> tags = parse_meta_graph(source, message).tags;
    if (std::find(tags.begin(), tags.end(), kServe) != tags.end()) return message;
    found.push_back(concat("[", quoted(tags), "]"));
  }
  if (model.meta_graphs.size() == 1) return model.meta_graphs.front();
  source.fail(concat("the SavedModel holds ", found.size(), " graphs with the tags ", join(found),
                     ", none of them for serving; save one with the tag 'serve'"));
}

// What the network is for its callers: serving_default, else the only signature.
const SignatureMessage& choose_signature(const Source& source, const MetaGraphMessage& meta) {
  std::vector<std::string_view> names;
  const SignatureMessage* only = nullptr;
  for (const SignatureMessage& signature : meta.signatures) {
    if (signature.key == kServingDefault) return signature;
    if (signature.key == kInitializer) continue;
    names.push_back(signature.key);
    only = &signature;
  }
  if (names.size() == 1 && only != nullptr) return *only;
  if (names.empty()) {
    source.fail(
        "the SavedModel has no signature, so nothing says what its inputs are; save it with "
        "tf.saved_model.save(module, folder, signatures=function) or, from Keras, model.export(folder)");
  }
  source.fail(concat("the SavedModel has the signatures ", quoted(names),
                     " and none called 'serving_default'; save it with signatures={'serving_default': function}"));
}

// What stands at the end of a graph without being a result of it.
bool gives_nothing(std::string_view op) {
  static constexpr std::array<std::string_view, 15> kOperators{"NoOp",
                                                               "Const",
                                                               "Assert",
                                                               "Placeholder",
                                                               "SaveV2",
                                                               "RestoreV2",
                                                               "MergeV2Checkpoints",
                                                               "Assign",
                                                               "Print",
                                                               "VarHandleOp",
                                                               "PrintV2",
                                                               "VarIsInitializedOp",
                                                               "AssignVariableOp",
                                                               "VariableV2",
                                                               "ShardedFilename"};
  return std::find(kOperators.begin(), kOperators.end(), op) != kOperators.end();
}

std::unordered_map<std::string_view, std::int32_t> names_of(const Body& main) {
  std::unordered_map<std::string_view, std::int32_t> nodes;
  for (std::size_t i = 0; i < main.list.nodes.size(); ++i) {
    nodes.emplace(main.list.nodes[i].name, static_cast<std::int32_t>(i));
  }
  return nodes;
}

Reference reference_of(const Source& source, const std::unordered_map<std::string_view, std::int32_t>& nodes,
                       const TensorInfo& info) {
  const std::size_t colon = info.name.rfind(':');
  const std::string_view node = info.name.substr(0, colon);
  const auto found = nodes.find(node);
  const std::string_view number = colon == std::string_view::npos ? "0" : info.name.substr(colon + 1);
  const bool is_number = !number.empty() && number.size() < 5 &&
                         std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (found == nodes.end() || !is_number) {
    source.fail(concat("'", info.key, "' of the signature is '", info.name, "', which no node of the graph makes"));
  }
  return {found->second, static_cast<std::uint32_t>(std::stoul(std::string(number)))};
}

// Dimensions without a size: the first is the batch, others are asked from the caller.
std::optional<std::vector<Dimension>> input_dimensions(const ShapeMessage& shape) {
  if (!shape.has_rank) return std::nullopt;
  std::vector<Dimension> dimensions = shape.dimensions;
  if (!dimensions.empty() && dimensions[0].size == kUnknownSize && dimensions[0].symbol.empty()) {
    dimensions[0].symbol = "batch";
  }
  return dimensions;
}

}  // namespace

Lowering::Lowering(const Source& source, const ReaderLimits& limits, std::string format)
    : source_(source), limits_(limits), assembly_(source, limits, "tensorflow", std::move(format)) {}

void Lowering::make_inputs(const Body& main, const std::unordered_map<std::string_view, std::int32_t>& nodes,
                           const std::vector<TensorInfo>& inputs) {
  for (const TensorInfo& info : inputs) {
    const Reference reference = reference_of(source_, nodes, info);
    const NodeMessage& node = main.list.nodes[static_cast<std::size_t>(reference.node)];
    const auto shape = info.shape ? input_dimensions(*info.shape) : std::nullopt;
    given_.emplace(node.offset, noted(assembly_.input(std::string(info.key), info.dtype, shape)));
  }
  std::vector<char> is_reached(main.list.nodes.size());
  for (const std::size_t index : main.order) is_reached[index] = 1;
  for (std::size_t i = 0; i < main.list.nodes.size(); ++i) {
    const NodeMessage& message = main.list.nodes[i];
    if (is_reached[i] == 0 || message.op != "Placeholder" || given_.contains(message.offset)) continue;
    const Node node(*this, main, message, {});
    const auto shape = node.find("shape");
    const bool has_shape = shape && shape->kind == ValueKind::shape;
    given_.emplace(
        message.offset,
        noted(assembly_.input(std::string(message.name), node.dtype("dtype"),
                              has_shape ? input_dimensions(parse_shape(source_, shape->content)) : std::nullopt)));
  }
}

Program Lowering::saved_model() {
  const SavedModelMessage model = parse_saved_model(source_);
  constexpr std::int64_t kSchemaVersion = 1;
  if (model.schema_version != kSchemaVersion) {
    source_.fail(concat("the SavedModel has schema version ", model.schema_version, ", this version of latpred reads ",
                        kSchemaVersion));
  }
  const MetaGraphMessage meta = parse_meta_graph(source_, choose_meta_graph(source_, model));
  const SignatureMessage& signature = choose_signature(source_, meta);
  assembly_.program().source.producer = concat("tensorflow ", meta.version);
  operators_ = meta.operators;
  const GraphMessage graph = parse_graph(source_, meta.graph);
  read_library(graph.functions);
  Body main;
  check_size(graph.nodes);
  main.list = parse_nodes(source_, graph.nodes);
  look_up(main);
  const auto nodes = names_of(main);
  std::vector<Reference> wanted;
  for (const TensorInfo& output : signature.outputs) wanted.push_back(reference_of(source_, nodes, output));
  if (wanted.empty()) source_.fail(concat("the signature '", signature.key, "' has no outputs"));
  put_in_order(main, wanted);
  make_inputs(main, nodes, signature.inputs);
  const auto values = walk(main, {});
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const VariableId output = value_of(main, values, {}, wanted[i]);
    Variable& variable = assembly_.variable(output);
    const auto& outputs = assembly_.program().main.outputs;
    const auto& inputs = assembly_.program().main.inputs;
    const bool is_own = !variable.is_stored && std::find(outputs.begin(), outputs.end(), output) == outputs.end() &&
                        std::find(inputs.begin(), inputs.end(), output) == inputs.end();
    if (is_own) variable.name = signature.outputs[i].key;
    assembly_.output(output);
  }
  return finish();
}

Program Lowering::graph_def() {
  const GraphMessage graph = parse_graph(source_, source_.content);
  if (graph.nodes.empty()) source_.fail("the graph has no nodes; save it again from TensorFlow");
  read_library(graph.functions);
  Body main;
  check_size(graph.nodes);
  main.list = parse_nodes(source_, graph.nodes);
  look_up(main);
  std::vector<char> is_read(main.list.nodes.size());
  for (const Reference reference : main.references) is_read[static_cast<std::size_t>(reference.node)] = 1;
  std::vector<Reference> ends;
  for (std::size_t i = 0; i < main.list.nodes.size(); ++i) {
    if (is_read[i] == 0 && !gives_nothing(main.list.nodes[i].op)) ends.push_back({static_cast<std::int32_t>(i), 0});
  }
  if (ends.empty()) {
    source_.fail(
        "the graph has no result: every node is read by another one, or gives nothing; freeze it with its outputs");
  }
  put_in_order(main, ends);
  make_inputs(main, names_of(main), {});
  const auto values = walk(main, {});
  // Freezing leaves reads of weights behind that nobody needs any more.
  for (const bool takes_stored : {false, true}) {
    if (!assembly_.program().main.outputs.empty()) break;
    for (const Reference end : ends) {
      const std::int32_t place = main.places[static_cast<std::size_t>(end.node)];
      for (const VariableId output : values[static_cast<std::size_t>(place)]) {
        if (list(output) == nullptr && assembly_.variable(output).is_stored == takes_stored) assembly_.output(output);
      }
    }
  }
  return finish();
}

Program Lowering::finish() {
  for (const VariableId output : assembly_.program().main.outputs) {
    if (list(output) != nullptr) source_.fail("a result of the network is a list of tensors, which is not read");
  }
  // Beside variables, constants are settings; in a frozen graph they are the weights.
  if (has_variables_) {
    for (const auto& [offset, constant] : constants_) assembly_.variable(constant).is_trained = false;
  }
  if (has_training_node_) {
    assembly_.warn("the graph was saved in training mode; inference is predicted");
  }
  Program program = assembly_.finish();
  join_batch_norms(program);
  return program;
}

}  // namespace tensorflow

Program read_tensorflow(const Source& source, const ReaderLimits& limits) {
  // A SavedModel starts with its schema version, a GraphDef with a node.
  WireReader reader(source, source.content);
  WireField first;
  const bool is_saved_model = reader.next(first) && first.number == 1 && first.type == WireType::varint;
  if (is_saved_model) return tensorflow::Lowering(source, limits, "TensorFlow SavedModel").saved_model();
  return tensorflow::Lowering(source, limits, "TensorFlow GraphDef").graph_def();
}

}  // namespace latpred::readers
