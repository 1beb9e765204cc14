#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "latpred/dtype.h"
#include "latpred/program.h"
#include "readers/containers/wire.h"

// The messages of onnx.proto as far as we need them: views into the file, nothing copied but numbers.
namespace latpred::readers {

// Attributes of a node, and operator domains of a file, are searched one after another; real ones have a dozen.
inline constexpr std::size_t kMaxListed = 1024;

// A sub-message that is parsed when it is needed.
using Message = std::string_view;

// Which kind of AttributeProto it is; the values are the file's.
enum class AttributeKind : std::uint8_t {
  undefined = 0,
  real = 1,
  integer = 2,
  text = 3,
  tensor = 4,
  graph = 5,
  reals = 6,
  integers = 7,
  texts = 8,
  tensors = 9,
  graphs = 10,
  sparse_tensor = 11,
  sparse_tensors = 12,
  type = 13,
  types = 14,
};

struct AttributeMessage {
  std::string_view name;
  std::string_view reference;  // of the surrounding function's attribute that stands here
  AttributeKind kind = AttributeKind::undefined;
  double real = 0;
  std::int64_t integer = 0;
  std::string_view text;
  Message tensor;
  // Lists keep their first kMaxFoldedElements + 1 elements: a longer one is data, not a setting.
  std::vector<double> reals;
  std::vector<std::int64_t> integers;
  std::vector<std::string_view> texts;
  std::vector<Message> graphs;  // one for `graph`
  std::int64_t list_size = 0;   // elements that the file holds
};

struct NodeMessage {
  std::string_view op_type;
  std::string_view domain;  // "" for ONNX's own
  std::string_view name;
  std::string_view overload;
  // Ranges in the NodeList's flat lists.
  std::pair<std::uint32_t, std::uint32_t> inputs;
  std::pair<std::uint32_t, std::uint32_t> outputs;
  std::pair<std::uint32_t, std::uint32_t> attributes;
  std::int64_t offset = 0;
};

// The nodes of a graph or a function. Their names and attributes stand in three flat lists: a network has thousands of
// nodes with one or two of each.
struct NodeList {
  std::vector<NodeMessage> nodes;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<Message> attributes;
};

struct TypeMessage {
  std::string_view kind = "tensor";  // or "map", "sparse tensor", "opaque value": kinds that no network computes with
  bool is_sequence = false;          // of such tensors
  DType dtype = DType::undefined;
  bool has_shape = false;
  std::vector<Dimension> dimensions;
};

struct ValueMessage {
  std::string_view name;
  TypeMessage type;
  std::int64_t offset = 0;
};

struct GraphMessage {
  std::vector<Message> nodes;
  std::vector<Message> initializers;
  std::vector<Message> sparse_initializers;
  std::vector<Message> inputs;
  std::vector<Message> outputs;
  std::vector<Message> value_infos;
};

// The version of each operator domain that a model or a function is written in.
using OpsetVersions = std::vector<std::pair<std::string_view, std::int64_t>>;

struct FunctionMessage {
  std::string_view domain;
  std::string_view name;
  std::string_view overload;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<Message> default_attributes;
  std::vector<Message> nodes;
  OpsetVersions versions;
  std::int64_t offset = 0;
};

struct ModelMessage {
  std::int64_t ir_version = 0;
  std::string_view producer_name;
  std::string_view producer_version;
  OpsetVersions versions;
  bool has_graph = false;
  Message graph;
  std::vector<Message> functions;
  bool has_training_info = false;
};

[[nodiscard]] ModelMessage parse_model(const Source& source);
[[nodiscard]] GraphMessage parse_graph(const Source& source, Message message);
[[nodiscard]] FunctionMessage parse_function(const Source& source, Message message);
[[nodiscard]] NodeList parse_nodes(const Source& source, const std::vector<Message>& messages);
[[nodiscard]] ValueMessage parse_value(const Source& source, Message message);
// Its name alone: files before IR version 4 list every weight as an input, whose type is not needed.
[[nodiscard]] std::string_view parse_value_name(const Source& source, Message message);
// Into `attribute`, whose lists keep their memory from one call to the next.
void parse_attribute(const Source& source, Message message, AttributeMessage& attribute);

// `number` as a file states it; refuses a type that this version does not know.
[[nodiscard]] DType parse_dtype(const Source& source, std::int64_t number, std::int64_t offset);

}  // namespace latpred::readers
