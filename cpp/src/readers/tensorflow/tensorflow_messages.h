#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "latpred/dtype.h"
#include "latpred/program.h"
#include "readers/containers/wire.h"

// The messages of SavedModel and GraphDef as far as we need them: views into the file, nothing copied but numbers.
namespace latpred::readers::tensorflow {

// A sub-message that is parsed when it is needed.
using Message = std::string_view;

// Which of AttrValue's alternatives stands in an attribute; the numbers are the fields'.
enum class ValueKind : std::uint8_t {
  none = 0,
  list = 1,
  text = 2,
  integer = 3,
  real = 4,
  boolean = 5,
  type = 6,
  shape = 7,
  tensor = 8,
  placeholder = 9,
  function = 10,
};

// One AttrValue, or one element of its list.
struct ValueMessage {
  ValueKind kind = ValueKind::none;
  std::int64_t integer = 0;  // also boolean and type
  double real = 0;
  Message content;  // of a list, text, shape, tensor; the name of a function
};

// A list's elements are of one kind.
struct ListMessage {
  std::vector<std::int64_t> integers;  // also booleans and types
  std::vector<double> reals;
  std::vector<Message> contents;  // texts, shapes, tensors
};

struct NodeMessage {
  std::string_view name;
  std::string_view op;
  // Ranges in the NodeList's flat lists.
  std::pair<std::uint32_t, std::uint32_t> inputs;
  std::pair<std::uint32_t, std::uint32_t> attributes;
  std::int64_t offset = 0;
};

struct AttributeMessage {
  std::string_view name;
  Message value;
};

// The nodes of a graph or a function; their inputs (without control edges) and attributes stand in flat lists.
struct NodeList {
  std::vector<NodeMessage> nodes;
  std::vector<std::string_view> inputs;
  std::vector<AttributeMessage> attributes;
};

struct ShapeMessage {
  bool has_rank = true;
  std::vector<Dimension> dimensions;  // no symbols but names that the file gives
};

struct TensorMessage {
  DType dtype = DType::undefined;
  Shape shape;
  std::int64_t num_elements = 1;
  Message body;
  Message raw;
  std::int64_t offset = 0;
};

struct FunctionMessage {
  std::string_view name;
  std::vector<std::string_view> arguments;
  std::vector<std::string_view> results;
  std::vector<Message> nodes;
  std::vector<std::pair<std::string_view, std::string_view>> returned;  // result -> what gives it
  std::int64_t offset = 0;
};

struct GraphMessage {
  std::vector<Message> nodes;
  std::vector<Message> functions;
};

struct TensorInfo {
  std::string_view key;   // as callers know it
  std::string_view name;  // "node:0"
  DType dtype = DType::undefined;
  std::optional<ShapeMessage> shape;
};

struct SignatureMessage {
  std::string_view key;
  std::vector<TensorInfo> inputs;   // by key
  std::vector<TensorInfo> outputs;  // by key
};

struct MetaGraphMessage {
  std::vector<std::string_view> tags;
  std::string_view version;  // of TensorFlow
  Message graph;
  Message operators;  // OpList: the operators that the file uses, as TensorFlow registers them
  std::vector<SignatureMessage> signatures;
};

struct SavedModelMessage {
  std::int64_t schema_version = 0;
  std::vector<Message> meta_graphs;
};

[[nodiscard]] SavedModelMessage parse_saved_model(const Source& source);
[[nodiscard]] MetaGraphMessage parse_meta_graph(const Source& source, Message message);
[[nodiscard]] GraphMessage parse_graph(const Source& source, Message message);
[[nodiscard]] FunctionMessage parse_function(const Source& source, Message message);
[[nodiscard]] NodeList parse_nodes(const Source& source, const std::vector<Message>& messages);
[[nodiscard]] ShapeMessage parse_shape(const Source& source, Message message);
[[nodiscard]] ValueMessage parse_value(const Source& source, Message message);
[[nodiscard]] ListMessage parse_list(const Source& source, Message message);
// Names of the results of each operator of an OpList.
[[nodiscard]] std::map<std::string_view, std::vector<std::string_view>> parse_results(const Source& source,
                                                                                      Message operators);

// `number` of TensorFlow's DataType; undefined for resources, variants and types that no network computes with.
[[nodiscard]] DType dtype_of(std::int64_t number);

}  // namespace latpred::readers::tensorflow
