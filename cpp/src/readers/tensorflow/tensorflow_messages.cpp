#include "readers/tensorflow/tensorflow_messages.h"

#include <algorithm>
#include <array>
#include <bit>

#include "latpred/text.h"

namespace latpred::readers::tensorflow {
namespace {

// Dimensions, inputs of one signature: real files have a few; the rest is an attempt to make us slow.
constexpr std::size_t kMaxDimensions = 254;  // TensorFlow's own limit

// An entry of a map: its key, and its value where that is a message or a text.
std::pair<std::string_view, Message> parse_entry(const Source& source, const WireField& entry) {
  std::pair<std::string_view, Message> result;
  WireReader reader(source, bytes_of(source, entry));
  for (WireField field; reader.next(field);) {
    if (field.number == 1) result.first = text_of(source, field);
    if (field.number == 2) result.second = bytes_of(source, field);
  }
  // An empty message is left out altogether: it still has a place.
  if (result.second.data() == nullptr) result.second = entry.bytes.substr(entry.bytes.size());
  return result;
}

TensorInfo parse_tensor_info(const Source& source, const WireField& entry) {
  const auto [key, message] = parse_entry(source, entry);
  TensorInfo info{.key = key};
  WireReader reader(source, message);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) info.name = text_of(source, field);
    if (field.number == 2) info.dtype = dtype_of(integer_of(source, field));
    if (field.number == 3) info.shape = parse_shape(source, bytes_of(source, field));
    if (field.number == 4 || field.number == 5) {
      source.fail(concat("'", key, "' of the signature is ", field.number == 4 ? "a sparse" : "a composite",
                         " tensor, which is not read; export a signature of dense tensors"),
                  field.offset);
    }
  }
  return info;
}

SignatureMessage parse_signature(const Source& source, const WireField& entry) {
  const auto [key, message] = parse_entry(source, entry);
  SignatureMessage signature{.key = key};
  WireReader reader(source, message);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) signature.inputs.push_back(parse_tensor_info(source, field));
    if (field.number == 2) signature.outputs.push_back(parse_tensor_info(source, field));
  }
  // Maps have no order in a file; TensorFlow sorts by name too.
  const auto by_key = [](const TensorInfo& a, const TensorInfo& b) { return a.key < b.key; };
  std::sort(signature.inputs.begin(), signature.inputs.end(), by_key);
  std::sort(signature.outputs.begin(), signature.outputs.end(), by_key);
  return signature;
}

void parse_meta_info(const Source& source, Message message, MetaGraphMessage& meta) {
  WireReader reader(source, message);
  for (WireField field; reader.next(field);) {
    if (field.number == 2) meta.operators = bytes_of(source, field);
    if (field.number == 4) meta.tags.push_back(text_of(source, field));
    if (field.number == 5) meta.version = text_of(source, field);
  }
}

// The names of an OpDef's arguments: field 2 holds its inputs, field 3 its results.
std::vector<std::string_view> parse_arguments(const Source& source, Message message, std::uint32_t number) {
  std::vector<std::string_view> names;
  WireReader reader(source, message);
  for (WireField field; reader.next(field);) {
    if (field.number != number) continue;
    WireReader argument(source, bytes_of(source, field));
    std::string_view name;
    for (WireField part; argument.next(part);) {
      if (part.number == 1) name = text_of(source, part);
    }
    names.push_back(name);
  }
  return names;
}

std::string_view parse_operator_name(const Source& source, Message message) {
  std::string_view name;
  WireReader reader(source, message);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) name = text_of(source, field);
  }
  return name;
}

// A varint list, packed or not; keeps kMaxFoldedElements + 1: more is no setting.
void add_integers(const Source& source, const WireField& field, std::vector<std::int64_t>& integers) {
  if (field.type == WireType::varint) {
    if (integers.size() <= kMaxFoldedElements) integers.push_back(field.integer());
    return;
  }
  WireReader packed(source, bytes_of(source, field));
  for (std::uint64_t bits = 0; integers.size() <= kMaxFoldedElements && packed.next_varint(bits);) {
    integers.push_back(static_cast<std::int64_t>(bits));
  }
}

}  // namespace

DType dtype_of(std::int64_t number) {
  // By DataType's number.
  static constexpr std::array kTypes{
      DType::undefined,    DType::float32,        DType::float64,   DType::int32,          DType::uint8,
      DType::int16,        DType::int8,           DType::string,    DType::complex64,      DType::int64,
      DType::boolean,      DType::int8,           DType::uint8,     DType::int32,          DType::bfloat16,
      DType::int16,        DType::uint16,         DType::uint16,    DType::complex128,     DType::float16,
      DType::undefined,    DType::undefined,      DType::uint32,    DType::uint64,         DType::float8e5m2,
      DType::float8e4m3fn, DType::float8e4m3fnuz, DType::undefined, DType::float8e5m2fnuz, DType::int4,
      DType::uint4,        DType::int2,           DType::uint2,     DType::float4e2m1,
  };
  constexpr std::int64_t kReference = 100;  // of TensorFlow 1's variables: the type's number plus this
  const std::int64_t plain = number > kReference ? number - kReference : number;
  if (plain < 0 || plain >= static_cast<std::int64_t>(kTypes.size())) return DType::undefined;
  return kTypes[static_cast<std::size_t>(plain)];
}

SavedModelMessage parse_saved_model(const Source& source) {
  SavedModelMessage model;
  WireReader reader(source, source.content);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) model.schema_version = integer_of(source, field);
    if (field.number == 2) model.meta_graphs.push_back(bytes_of(source, field));
  }
  return model;
}

MetaGraphMessage parse_meta_graph(const Source& source, Message message) {
  MetaGraphMessage meta;
  WireReader reader(source, message);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) parse_meta_info(source, bytes_of(source, field), meta);
    if (field.number == 2) meta.graph = bytes_of(source, field);
    if (field.number == 5) meta.signatures.push_back(parse_signature(source, field));
  }
  return meta;
}

GraphMessage parse_graph(const Source& source, Message message) {
  GraphMessage graph;
  WireReader reader(source, message);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) graph.nodes.push_back(bytes_of(source, field));
    if (field.number == 2) {
      WireReader library(source, bytes_of(source, field));
      for (WireField part; library.next(part);) {
        if (part.number == 1) graph.functions.push_back(bytes_of(source, part));
      }
    }
  }
  return graph;
}

FunctionMessage parse_function(const Source& source, Message message) {
  FunctionMessage function{.offset = source.offset_of(message.data())};
  WireReader reader(source, message);
  for (WireField field; reader.next(field);) {
    switch (field.number) {
      case 1: {
        const Message signature = bytes_of(source, field);
        function.name = parse_operator_name(source, signature);
        function.arguments = parse_arguments(source, signature, 2);
        function.results = parse_arguments(source, signature, 3);
        break;
      }
      case 3:
        function.nodes.push_back(bytes_of(source, field));
        break;
      case 4: {
        const auto [result, value] = parse_entry(source, field);
        if (!is_utf8(value)) {
          source.fail_as_damaged(concat("the name at byte ", field.offset, " is not UTF-8"), field.offset);
        }
        function.returned.emplace_back(result, value);
        break;
      }
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
  list.attributes.reserve(4 * messages.size());
  for (const Message message : messages) {
    NodeMessage node{.offset = source.offset_of(message.data())};
    node.inputs.first = static_cast<std::uint32_t>(list.inputs.size());
    node.attributes.first = static_cast<std::uint32_t>(list.attributes.size());
    WireReader reader(source, message);
    for (WireField field; reader.next(field);) {
      switch (field.number) {
        case 1:
          node.name = text_of(source, field);
          break;
        case 2:
          node.op = text_of(source, field);
          break;
        case 3: {
          const std::string_view input = text_of(source, field);
          if (!input.starts_with('^')) list.inputs.push_back(input);  // else a control edge
          break;
        }
        case 5: {
          const auto [name, value] = parse_entry(source, field);
          list.attributes.push_back({name, value});
          break;
        }
        default:
          break;
      }
    }
    node.inputs.second = static_cast<std::uint32_t>(list.inputs.size());
    node.attributes.second = static_cast<std::uint32_t>(list.attributes.size());
    list.nodes.push_back(node);
  }
  return list;
}

ShapeMessage parse_shape(const Source& source, Message message) {
  ShapeMessage shape;
  WireReader reader(source, message);
  for (WireField field; reader.next(field);) {
    if (field.number == 3) shape.has_rank = integer_of(source, field) == 0;
    if (field.number != 2) continue;
    Dimension& dimension = shape.dimensions.emplace_back();
    dimension.size = 0;  // the format's default, which is not written
    if (shape.dimensions.size() > kMaxDimensions) {
      source.fail(concat("a shape at byte ", field.offset, " has more than ", kMaxDimensions, " dimensions"),
                  field.offset);
    }
    WireReader part(source, bytes_of(source, field));
    for (WireField number; part.next(number);) {
      if (number.number == 1) dimension.size = integer_of(source, number);
      if (number.number == 2) dimension.symbol = text_of(source, number);
    }
    if (dimension.size < kUnknownSize) {
      source.fail(concat("a shape at byte ", field.offset, " has the size ", dimension.size), field.offset);
    }
  }
  return shape;
}

ValueMessage parse_value(const Source& source, Message message) {
  ValueMessage value;
  WireReader reader(source, message);
  for (WireField field; reader.next(field);) {
    if (field.number == 0 || field.number > static_cast<std::uint32_t>(ValueKind::function)) continue;
    value.kind = static_cast<ValueKind>(field.number);
    switch (value.kind) {
      case ValueKind::integer:
      case ValueKind::boolean:
      case ValueKind::type:
        value.integer = integer_of(source, field);
        break;
      case ValueKind::real:
        value.real = field.float32();
        break;
      case ValueKind::function:
        value.content = parse_operator_name(source, bytes_of(source, field));
        break;
      default:
        value.content = bytes_of(source, field);
        break;
    }
  }
  return value;
}

ListMessage parse_list(const Source& source, Message message) {
  ListMessage list;
  WireReader reader(source, message);
  for (WireField field; reader.next(field);) {
    switch (field.number) {
      case 3:
      case 5:
      case 6:
        add_integers(source, field, list.integers);
        break;
      case 4:
        if (field.type == WireType::fixed32) {
          list.reals.push_back(field.float32());
        } else {
          WireReader packed(source, bytes_of(source, field));
          for (std::uint64_t bits = 0; list.reals.size() <= kMaxFoldedElements && packed.next_fixed32(bits);) {
            list.reals.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
          }
        }
        break;
      case 2:
      case 7:
      case 8:
      case 9:
        list.contents.push_back(bytes_of(source, field));
        break;
      default:
        break;
    }
  }
  return list;
}

std::map<std::string_view, std::vector<std::string_view>> parse_results(const Source& source, Message operators) {
  std::map<std::string_view, std::vector<std::string_view>> results;
  WireReader reader(source, operators);
  for (WireField field; reader.next(field);) {
    if (field.number != 1) continue;
    const Message message = bytes_of(source, field);
    results[parse_operator_name(source, message)] = parse_arguments(source, message, 3);
  }
  return results;
}

}  // namespace latpred::readers::tensorflow
