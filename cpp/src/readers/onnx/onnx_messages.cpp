#include "readers/onnx/onnx_messages.h"

#include "latpred/text.h"

namespace latpred::readers {
namespace {

// Files say "ai.onnx" or nothing for ONNX's own operators.
std::string_view normalized_domain(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

void parse_opset(const Source& source, Message message, OpsetVersions& versions) {
  std::string_view domain;
  std::int64_t version = 0;
  WireReader reader(source, message);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) domain = normalized_domain(text_of(source, field));
    if (field.number == 2) version = integer_of(source, field);
  }
  for (auto& [known, known_version] : versions) {
    if (known == domain) {
      known_version = std::max(known_version, version);
      return;
    }
  }
  if (versions.size() == kMaxListed) {
    source.fail(concat("the file states versions of more than ", kMaxListed, " operator domains"));
  }
  versions.emplace_back(domain, version);
}

void check_attribute_count(const Source& source, std::size_t count, std::string_view owner, std::int64_t offset) {
  if (count <= kMaxListed) return;
  source.fail(concat("'", owner, "' at byte ", offset, " has ", grouped_digits(static_cast<std::int64_t>(count)),
                     " attributes, limit ", grouped_digits(static_cast<std::int64_t>(kMaxListed))),
              offset);
}

void parse_shape(const Source& source, Message message, TypeMessage& type) {
  type.has_shape = true;
  WireReader reader(source, message);
  for (WireField field; reader.next(field);) {
    if (field.number != 1) continue;
    Dimension& dimension = type.dimensions.emplace_back();
    WireReader parts(source, bytes_of(source, field));
    for (WireField part; parts.next(part);) {
      if (part.number == 1) {
        const std::int64_t size = integer_of(source, part);
        dimension.size = size >= 0 ? size : kUnknownSize;  // exporters write -1 for "any"; 0 may mean either
      } else if (part.number == 2) {
        dimension.symbol = text_of(source, part);
      }
    }
  }
}

void parse_tensor_type(const Source& source, Message message, TypeMessage& type) {
  WireReader reader(source, message);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) type.dtype = parse_dtype(source, integer_of(source, field), field.offset);
    if (field.number == 2) parse_shape(source, bytes_of(source, field), type);
  }
}

// Sequences and optionals are read as what they hold, so that sequence(optional(tensor)) ends at its tensor.
TypeMessage parse_type(const Source& source, Message message) {
  TypeMessage type;
  // The type in the type in the type: nothing real has more levels.
  constexpr int kMaxLevels = 4;
  for (int level = 0; level < kMaxLevels && !message.empty(); ++level) {
    Message inner;
    WireReader reader(source, message);
    for (WireField field; reader.next(field);) {
      switch (field.number) {
        case 1:
          parse_tensor_type(source, bytes_of(source, field), type);
          break;
        case 4:
          type.is_sequence = true;
          [[fallthrough]];
        case 9: {
          WireReader element(source, bytes_of(source, field));
          for (WireField part; element.next(part);) {
            if (part.number == 1) inner = bytes_of(source, part);
          }
          break;
        }
        case 5:
          type.kind = "map";
          break;
        case 7:
          type.kind = "opaque value";
          break;
        case 8:
          type.kind = "sparse tensor";
          break;
        default:
          break;
      }
    }
    message = inner;
  }
  return type;
}

AttributeKind kind_from_content(const AttributeMessage& attribute, bool has_real, bool has_integer, bool has_text,
                                bool has_tensor) {
  // Files before IR version 2 do not state the kind.
  if (has_real) return AttributeKind::real;
  if (has_integer) return AttributeKind::integer;
  if (has_text) return AttributeKind::text;
  if (has_tensor) return AttributeKind::tensor;
  if (!attribute.graphs.empty()) return AttributeKind::graph;
  if (!attribute.reals.empty()) return AttributeKind::reals;
  if (!attribute.integers.empty()) return AttributeKind::integers;
  if (!attribute.texts.empty()) return AttributeKind::texts;
  return AttributeKind::undefined;
}

template <typename T>
void append(AttributeMessage& attribute, std::vector<T>& list, T value) {
  ++attribute.list_size;
  if (list.size() <= static_cast<std::size_t>(kMaxFoldedElements)) list.push_back(value);
}

}  // namespace

DType parse_dtype(const Source& source, std::int64_t number, std::int64_t offset) {
  constexpr auto kLast = static_cast<std::int64_t>(DType::int2);
  if (number < 0 || number > kLast) {
    source.fail(concat("element type ", number, " at byte ", offset, " is unknown to this version, which reads 0 to ",
                       kLast, " (int2)"),
                offset);
  }
  return static_cast<DType>(number);
}

ModelMessage parse_model(const Source& source) {
  ModelMessage model;
  WireReader reader(source, source.content);
  for (WireField field; reader.next(field);) {
    switch (field.number) {
      case 1:
        model.ir_version = integer_of(source, field);
        break;
      case 2:
        model.producer_name = text_of(source, field);
        break;
      case 3:
        model.producer_version = text_of(source, field);
        break;
      case 7:
        model.graph = bytes_of(source, field);
        model.has_graph = true;
        break;
      case 8:
        parse_opset(source, bytes_of(source, field), model.versions);
        break;
      case 20:
        model.has_training_info = true;
        break;
      case 25:
        model.functions.push_back(bytes_of(source, field));
        break;
      default:
        break;
    }
  }
  return model;
}

GraphMessage parse_graph(const Source& source, Message message) {
  GraphMessage graph;
  WireReader reader(source, message);
  for (WireField field; reader.next(field);) {
    switch (field.number) {
      case 1:
        graph.nodes.push_back(bytes_of(source, field));
        break;
      case 5:
        graph.initializers.push_back(bytes_of(source, field));
        break;
      case 11:
        graph.inputs.push_back(bytes_of(source, field));
        break;
      case 12:
        graph.outputs.push_back(bytes_of(source, field));
        break;
      case 13:
        graph.value_infos.push_back(bytes_of(source, field));
        break;
      case 15:
        graph.sparse_initializers.push_back(bytes_of(source, field));
        break;
      default:
        break;
    }
  }
  return graph;
}

FunctionMessage parse_function(const Source& source, Message message) {
  FunctionMessage function{.offset = source.offset_of(message.data())};
  WireReader reader(source, message);
  for (WireField field; reader.next(field);) {
    switch (field.number) {
      case 1:
        function.name = text_of(source, field);
        break;
      case 4:
        function.inputs.push_back(text_of(source, field));
        break;
      case 5:
        function.outputs.push_back(text_of(source, field));
        break;
      case 7:
        function.nodes.push_back(bytes_of(source, field));
        break;
      case 9:
        parse_opset(source, bytes_of(source, field), function.versions);
        break;
      case 10:
        function.domain = normalized_domain(text_of(source, field));
        break;
      case 11:
        function.default_attributes.push_back(bytes_of(source, field));
        break;
      case 13:
        function.overload = text_of(source, field);
        break;
      default:
        break;
    }
  }
  return function;
}

NodeList parse_nodes(const Source& source, const std::vector<Message>& messages) {
  NodeList list;
  list.nodes.reserve(messages.size());
  list.inputs.reserve(2 * messages.size());
  list.outputs.reserve(messages.size());
  list.attributes.reserve(messages.size());
  const auto size_of = [](const auto& flat) { return static_cast<std::uint32_t>(flat.size()); };
  for (const Message message : messages) {
    NodeMessage& node = list.nodes.emplace_back();
    node.offset = source.offset_of(message.data());
    node.inputs.first = size_of(list.inputs);
    node.outputs.first = size_of(list.outputs);
    node.attributes.first = size_of(list.attributes);
    WireReader reader(source, message);
    for (WireField field; reader.next(field);) {
      switch (field.number) {
        case 1:
          list.inputs.push_back(text_of(source, field));
          break;
        case 2:
          list.outputs.push_back(text_of(source, field));
          break;
        case 3:
          node.name = text_of(source, field);
          break;
        case 4:
          node.op_type = text_of(source, field);
          break;
        case 5:
          list.attributes.push_back(bytes_of(source, field));
          break;
        case 7:
          node.domain = normalized_domain(text_of(source, field));
          break;
        case 8:
          node.overload = text_of(source, field);
          break;
        default:
          break;
      }
    }
    node.inputs.second = size_of(list.inputs);
    node.outputs.second = size_of(list.outputs);
    node.attributes.second = size_of(list.attributes);
    check_attribute_count(source, node.attributes.second - node.attributes.first, node.op_type, node.offset);
    if (node.op_type.empty()) {
      source.fail_as_damaged(concat("node '", node.name, "' at byte ", node.offset, " names no operator"), node.offset);
    }
  }
  return list;
}

ValueMessage parse_value(const Source& source, Message message) {
  ValueMessage value{.offset = source.offset_of(message.data())};
  WireReader reader(source, message);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) value.name = text_of(source, field);
    if (field.number == 2) value.type = parse_type(source, bytes_of(source, field));
  }
  return value;
}

std::string_view parse_value_name(const Source& source, Message message) {
  std::string_view name;
  WireReader reader(source, message);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) name = text_of(source, field);
  }
  return name;
}

void parse_attribute(const Source& source, Message message, AttributeMessage& attribute) {
  attribute.name = attribute.reference = attribute.text = attribute.tensor = {};
  attribute.kind = AttributeKind::undefined;
  attribute.real = 0;
  attribute.integer = attribute.list_size = 0;
  attribute.reals.clear();
  attribute.integers.clear();
  attribute.texts.clear();
  attribute.graphs.clear();
  bool has_real = false;
  bool has_integer = false;
  bool has_text = false;
  bool has_tensor = false;
  WireReader reader(source, message);
  for (WireField field; reader.next(field);) {
    switch (field.number) {
      case 1:
        attribute.name = text_of(source, field);
        break;
      case 2:
        attribute.real = field.float32();
        has_real = true;
        break;
      case 3:
        attribute.integer = integer_of(source, field);
        has_integer = true;
        break;
      case 4:
        attribute.text = bytes_of(source, field);
        has_text = true;
        break;
      case 5:
        attribute.tensor = bytes_of(source, field);
        has_tensor = true;
        break;
      case 6:
      case 11:
        attribute.graphs.push_back(bytes_of(source, field));
        break;
      case 7:
        if (field.type == WireType::length_delimited) {
          WireReader elements(source, field.bytes);
          for (WireField element; elements.next_fixed32(element.bits);) {
            append(attribute, attribute.reals, element.float32());
          }
        } else {
          append(attribute, attribute.reals, field.float32());
        }
        break;
      case 8:
        if (field.type == WireType::length_delimited) {
          WireReader elements(source, field.bytes);
          for (WireField element; elements.next_varint(element.bits);) {
            append(attribute, attribute.integers, element.integer());
          }
        } else {
          append(attribute, attribute.integers, integer_of(source, field));
        }
        break;
      case 9:
        append(attribute, attribute.texts, bytes_of(source, field));
        break;
      case 20: {
        const std::int64_t kind = integer_of(source, field);
        if (kind < 0 || kind > static_cast<std::int64_t>(AttributeKind::types)) {
          source.fail_as_damaged(concat("attribute '", attribute.name, "' at byte ", field.offset, " is of kind ", kind,
                                        ", which does not exist"),
                                 field.offset);
        }
        attribute.kind = static_cast<AttributeKind>(kind);
        break;
      }
      case 21:
        attribute.reference = text_of(source, field);
        break;
      default:
        break;
    }
  }
  if (attribute.kind == AttributeKind::undefined) {
    attribute.kind = kind_from_content(attribute, has_real, has_integer, has_text, has_tensor);
  }
}

}  // namespace latpred::readers
