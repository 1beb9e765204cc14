#include "readers/paddle/paddle_messages.h"

#include <algorithm>
#include <string>

#include "latpred/text.h"
#include "readers/containers/wire.h"
#include "readers/paddle/paddle_operators.h"

namespace latpred::readers {
namespace {

// VarType.Type: tensors, and rows of one that were trained sparsely.
constexpr std::int64_t kDenseTensor = 7;
constexpr std::int64_t kSelectedRows = 8;

// AttrType.
enum class AttributeType : std::uint8_t {
  integer = 0,
  real = 1,
  text = 2,
  integers = 3,
  reals = 4,
  texts = 5,
  boolean = 6,
  booleans = 7,
  block = 8,
  long_integer = 9,
  blocks = 10,
  long_integers = 11,
  doubles = 12,
  variable = 13,
  variables = 14,
  double_real = 15,
  scalar = 16,
  scalars = 17,
};

// What Paddle notes of where an operator came from; some are long.
bool is_note(std::string_view name) {
  constexpr std::string_view kNotes[] = {"op_callstack", "op_role", "op_role_var", "op_namescope", "op_device"};
  return std::find(std::begin(kNotes), std::end(kNotes), name) != std::end(kNotes);
}

// Lists may be packed or not.
void append_varints(const Source& source, const WireField& field, std::vector<std::int64_t>& list) {
  if (field.type != WireType::length_delimited) {
    list.push_back(integer_of(source, field));
    return;
  }
  WireReader reader(source, field.bytes);
  for (std::uint64_t bits = 0; reader.next_varint(bits);) list.push_back(static_cast<std::int64_t>(bits));
}

void append_floats(const Source& source, const WireField& field, std::vector<double>& list) {
  if (field.type == WireType::fixed32) return list.push_back(field.float32());
  if (field.type == WireType::fixed64) return list.push_back(field.float64());
  WireReader reader(source, bytes_of(source, field));
  const bool is_double = field.number == 16;
  WireField element;
  for (std::uint64_t bits = 0; is_double ? reader.next_fixed64(bits) : reader.next_fixed32(bits);) {
    element.bits = bits;
    list.push_back(is_double ? element.float64() : element.float32());
  }
}

// Scalar: a number of some type.
std::optional<double> parse_scalar(const Source& source, std::string_view message) {
  WireReader reader(source, message);
  std::optional<double> result;
  for (WireField field; reader.next(field);) {
    if (field.number == 2 || field.number == 3) result = static_cast<double>(integer_of(source, field));
    if (field.number == 4) result = field.float64();
  }
  return result;
}

void parse_attribute(const Source& source, std::string_view message, Attributes& attributes) {
  std::string_view name;
  std::int64_t type = -1;
  std::int64_t integer = 0;
  double real = 0;
  std::string_view text;
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  WireReader reader(source, message);
  for (WireField field; reader.next(field);) {
    switch (field.number) {
      case 1:
        name = text_of(source, field);
        if (is_note(name)) return;
        break;
      case 2:
        type = integer_of(source, field);
        break;
      case 3:
      case 10:
      case 12:
      case 13:
        integer = integer_of(source, field);
        break;
      case 4:
        real = field.float32();
        break;
      case 5:
        text = bytes_of(source, field);
        break;
      case 6:
      case 11:
      case 15:
        append_varints(source, field, integers);
        break;
      case 7:
      case 16:
        append_floats(source, field, reals);
        break;
      case 19:
        real = field.float64();
        break;
      case 20:
        real = parse_scalar(source, bytes_of(source, field)).value_or(0);
        break;
      case 21:
        reals.push_back(parse_scalar(source, bytes_of(source, field)).value_or(0));
        break;
      default:
        break;  // texts and names of variables: no operator's shape depends on them
    }
  }
  std::string key(name);
  if (attributes.has(key)) return;  // the first one counts
  switch (static_cast<AttributeType>(type)) {
    case AttributeType::integer:
      attributes.set(std::move(key), std::int64_t{static_cast<std::int32_t>(integer)});
      break;
    case AttributeType::boolean:
    case AttributeType::block:
    case AttributeType::long_integer:
      attributes.set(std::move(key), integer);
      break;
    case AttributeType::real:
    case AttributeType::double_real:
    case AttributeType::scalar:
      attributes.set(std::move(key), real);
      break;
    case AttributeType::text:
      if (is_utf8(text)) attributes.set(std::move(key), std::string(text));
      break;
    case AttributeType::integers:
      for (std::int64_t& one : integers) one = static_cast<std::int32_t>(one);
      attributes.set(std::move(key), std::move(integers));
      break;
    case AttributeType::booleans:
    case AttributeType::long_integers:
      attributes.set(std::move(key), std::move(integers));
      break;
    case AttributeType::reals:
    case AttributeType::doubles:
    case AttributeType::scalars:
      attributes.set(std::move(key), std::move(reals));
      break;
    default:
      break;
  }
}

PaddleArgument parse_argument(const Source& source, std::string_view message) {
  PaddleArgument argument;
  WireReader reader(source, message);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) argument.parameter = text_of(source, field);
    if (field.number == 2) argument.names.push_back(text_of(source, field));
  }
  return argument;
}

PaddleOpMessage parse_operator(const Source& source, const WireField& op) {
  PaddleOpMessage result{.offset = op.offset};
  WireReader reader(source, bytes_of(source, op));
  for (WireField field; reader.next(field);) {
    if (field.number == 1) result.inputs.push_back(parse_argument(source, bytes_of(source, field)));
    if (field.number == 2) result.outputs.push_back(parse_argument(source, bytes_of(source, field)));
    if (field.number == 3) result.type = text_of(source, field);
    if (field.number == 4) parse_attribute(source, bytes_of(source, field), result.attributes);
  }
  if (result.type.empty()) source.fail_as_damaged("an operator has no type", op.offset);
  return result;
}

void parse_tensor(const Source& source, std::string_view message, PaddleVariableMessage& variable) {
  variable.sizes.emplace();
  WireReader reader(source, message);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) variable.dtype = paddle_dtype(integer_of(source, field));
    if (field.number == 2) append_varints(source, field, *variable.sizes);
  }
  for (const std::int64_t size : *variable.sizes) {
    if (size < -1) {
      source.fail_as_damaged(concat("variable '", variable.name, "' has the dimensions ", shape_text(*variable.sizes)),
                             variable.offset);
    }
  }
}

void parse_type(const Source& source, std::string_view message, PaddleVariableMessage& variable) {
  std::int64_t kind = -1;
  std::string_view rows;
  std::string_view dense;
  WireReader reader(source, message);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) kind = integer_of(source, field);
    if (field.number == 2) rows = bytes_of(source, field);
    if (field.number == 3) dense = bytes_of(source, field);
  }
  if (kind == kSelectedRows) parse_tensor(source, rows, variable);
  if (kind != kDenseTensor) return;
  WireReader inner(source, dense);
  for (WireField field; inner.next(field);) {
    if (field.number == 1) parse_tensor(source, bytes_of(source, field), variable);
  }
}

PaddleVariableMessage parse_variable(const Source& source, const WireField& message) {
  PaddleVariableMessage result{.offset = message.offset};
  std::string_view type;
  WireReader reader(source, bytes_of(source, message));
  for (WireField field; reader.next(field);) {
    if (field.number == 1) result.name = text_of(source, field);
    if (field.number == 2) type = bytes_of(source, field);
    if (field.number == 3) result.is_persistable = integer_of(source, field) != 0;
    if (field.number == 4) result.is_fed = integer_of(source, field) != 0;
  }
  if (!type.empty()) parse_type(source, type, result);
  return result;
}

PaddleBlockMessage parse_block(const Source& source, std::string_view message, std::int64_t max_nodes) {
  PaddleBlockMessage block;
  WireReader reader(source, message);
  for (WireField field; reader.next(field);) {
    if (field.number == 3) block.variables.push_back(parse_variable(source, field));
    if (field.number != 4) continue;
    if (static_cast<std::int64_t>(block.operators.size()) >= max_nodes) {
      source.fail(concat("the network has more than ", grouped_digits(max_nodes), " nodes, limit ",
                         grouped_digits(max_nodes), " (max_nodes)"),
                  field.offset);
    }
    block.operators.push_back(parse_operator(source, field));
  }
  return block;
}

}  // namespace

PaddleProgramMessage parse_paddle_program(const Source& source, std::int64_t max_nodes) {
  PaddleProgramMessage program;
  WireReader reader(source, source.content);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) {
      const std::string_view block = bytes_of(source, field);
      // The first block is the network; others are bodies of its control flow.
      if (program.num_blocks++ == 0) program.main = parse_block(source, block, max_nodes);
    } else if (field.number == 4) {
      WireReader version(source, bytes_of(source, field));
      for (WireField inner; version.next(inner);) {
        if (inner.number == 1) program.version = integer_of(source, inner);
      }
    }
  }
  return program;
}

}  // namespace latpred::readers
