#include "readers/onnx/onnx_tensors.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <vector>

#include "latpred/text.h"
#include "readers/stored_values.h"

namespace latpred::readers {
namespace {

// Fields of TensorProto that hold content by type; raw_data is the alternative to all of them.
constexpr std::uint32_t kFloatData = 4;
constexpr std::uint32_t kInt32Data = 5;
constexpr std::uint32_t kInt64Data = 7;
constexpr std::uint32_t kDoubleData = 10;
constexpr std::uint32_t kUint64Data = 11;

// The field of typed content for each element type that takes part in shape arithmetic.
struct TypedField {
  DType dtype;
  std::uint32_t number;
};
constexpr TypedField kTypedFields[] = {
    {DType::float32, kFloatData}, {DType::float64, kDoubleData}, {DType::int64, kInt64Data},
    {DType::uint32, kUint64Data}, {DType::uint64, kUint64Data},
};

// All others stand in int32_data.
std::uint32_t typed_field(DType dtype) {
  for (const TypedField& field : kTypedFields) {
    if (field.dtype == dtype) return field.number;
  }
  return kInt32Data;
}

std::int64_t checked_num_elements(const Source& source, const TensorMessage& tensor) {
  std::int64_t count = 1;
  bool has_zero = false;
  for (const std::int64_t size : tensor.dims) {
    if (size < 0) {
      source.fail(concat("tensor '", tensor.name, "' has the size ", shape_text(tensor.dims)), tensor.offset);
    }
    has_zero = has_zero || size == 0;
  }
  if (has_zero) return 0;
  for (const std::int64_t size : tensor.dims) {
    // 16 bytes is the widest element: its bytes must be countable too.
    if (count > INT64_MAX / 16 / size) {
      source.fail(concat("tensor '", tensor.name, "' of size ", shape_text(tensor.dims),
                         " has more elements than any machine can hold"),
                  tensor.offset);
    }
    count *= size;
  }
  return count;
}

void check_location(const Source& source, const TensorMessage& tensor) {
  const std::string_view location = tensor.location;
  bool escapes = location.starts_with('/') || location.starts_with('\\') || (location.size() > 1 && location[1] == ':');
  for (std::size_t start = 0; start <= location.size() && !escapes;) {
    const std::size_t end = std::min(location.find_first_of("/\\", start), location.size());
    escapes = location.substr(start, end - start) == "..";
    start = end + 1;
  }
  if (escapes) {
    source.fail(concat("tensor '", tensor.name, "' keeps its content in '", location,
                       "', outside the model's folder; only files beside the model are accepted"),
                tensor.offset);
  }
}

void parse_external_entry(const Source& source, Message message, TensorMessage& tensor) {
  std::string_view key;
  std::string_view value;
  WireReader reader(source, message);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) key = text_of(source, field);
    if (field.number == 2) value = text_of(source, field);
  }
  if (key == "location") tensor.location = value;
}

// The words of typed content: one for each element, or for each byte where elements are smaller.
std::vector<std::uint64_t> typed_words(const Source& source, const TensorMessage& tensor, std::uint32_t number) {
  std::vector<std::uint64_t> words;
  WireReader reader(source, tensor.body);
  for (WireField field; reader.next(field);) {
    if (field.number != number) continue;
    if (field.type != WireType::length_delimited) {
      words.push_back(field.bits);
    } else {
      WireReader packed(source, field.bytes);
      const auto next = number == kFloatData    ? &WireReader::next_fixed32
                        : number == kDoubleData ? &WireReader::next_fixed64
                                                : &WireReader::next_varint;
      for (std::uint64_t bits = 0; (packed.*next)(bits);) {
        words.push_back(bits);
        // More than could be meant: the caller compares the counts.
        if (words.size() > static_cast<std::size_t>(tensor.num_elements)) return words;
      }
    }
    if (words.size() > static_cast<std::size_t>(tensor.num_elements)) return words;
  }
  return words;
}

}  // namespace

TensorMessage parse_tensor(const Source& source, Message message) {
  TensorMessage tensor{.body = message, .offset = source.offset_of(message.data())};
  bool has_location = false;
  WireReader reader(source, message);
  for (WireField field; reader.next(field);) {
    switch (field.number) {
      case 1:
        if (field.type == WireType::length_delimited) {
          WireReader dims(source, field.bytes);
          for (WireField dim; dims.next_varint(dim.bits);) tensor.dims.push_back(dim.integer());
        } else {
          tensor.dims.push_back(integer_of(source, field));
        }
        break;
      case 2:
        tensor.dtype = parse_dtype(source, integer_of(source, field), field.offset);
        break;
      case 3:
        source.fail(
            "a tensor stored in segments, which no released version of ONNX writes; save it again with onnx.save",
            field.offset);
      case 8:
        tensor.name = text_of(source, field);
        break;
      case 9:
        tensor.raw = bytes_of(source, field);
        tensor.has_raw = true;
        break;
      case 13:
        parse_external_entry(source, bytes_of(source, field), tensor);
        has_location = true;
        break;
      case 14:
        tensor.is_external = integer_of(source, field) == 1;
        break;
      default:
        break;
    }
  }
  tensor.num_elements = checked_num_elements(source, tensor);
  if (tensor.dtype == DType::undefined) {
    source.fail(concat("tensor '", tensor.name, "' states no element type"), tensor.offset);
  }
  if (tensor.is_external && has_location) check_location(source, tensor);
  if (tensor.has_raw && !tensor.raw.empty() && tensor.dtype != DType::string) {
    const std::int64_t expected = packed_bytes(tensor.dtype, tensor.num_elements);
    const auto found = static_cast<std::int64_t>(tensor.raw.size());
    if (found != expected) {
      source.fail_as_damaged(
          concat("tensor '", tensor.name, "' of size ", shape_text(tensor.dims), " ", dtype_row(tensor.dtype).name,
                 " needs ", grouped_digits(expected), " bytes, holds ", grouped_digits(found)),
          tensor.offset);
    }
  }
  return tensor;
}

std::shared_ptr<const Value> decode_value(const Source& source, const TensorMessage& tensor) {
  if (tensor.is_external || tensor.num_elements > kMaxFoldedElements) return nullptr;
  const int bits = bits_of_element(tensor.dtype);
  if (bits == 0) return nullptr;
  const std::vector<std::uint64_t> words =
      tensor.has_raw ? packed_words(tensor.dtype, tensor.raw) : typed_words(source, tensor, typed_field(tensor.dtype));
  const std::int64_t expected = bits < 8 ? packed_bytes(tensor.dtype, tensor.num_elements) : tensor.num_elements;
  if (static_cast<std::int64_t>(words.size()) != expected) {
    if (words.empty()) return nullptr;  // weights taken out of the file: the sizes are all that is needed
    source.fail_as_damaged(
        concat("tensor '", tensor.name, "' of size ", shape_text(tensor.dims), " has ", tensor.num_elements,
               " elements, holds ", static_cast<std::int64_t>(words.size()) > expected ? "more" : "fewer"),
        tensor.offset);
  }
  return value_of_words(tensor.dtype, tensor.dims, words);
}

void store(const Source& source, const TensorMessage& tensor, Variable& variable) {
  variable.dtype = tensor.dtype;
  variable.is_stored = true;
  variable.has_shape = true;
  variable.dimensions.clear();
  variable.dimensions.reserve(tensor.dims.size());
  for (const std::int64_t size : tensor.dims) variable.dimensions.push_back({size, {}});
  variable.value = decode_value(source, tensor);
}

void unpack(Variable& variable, std::int64_t bits) {
  struct Width {
    std::int64_t bits;
    DType dtype;
  };
  constexpr std::int64_t kByteBits = 8;
  constexpr std::array kWidths{Width{2, DType::uint2}, Width{4, DType::uint4}};
  const auto* const found = std::ranges::find(kWidths, bits, &Width::bits);
  const bool is_packed = variable.is_stored && variable.dtype == DType::uint8 && !variable.dimensions.empty();
  if (!is_packed || found == kWidths.end()) return;
  std::int64_t& last = variable.dimensions.back().size;
  if (last > std::numeric_limits<std::int64_t>::max() / kByteBits) return;  // of a tensor without elements
  variable.dtype = found->dtype;
  last *= kByteBits / bits;
  variable.value = nullptr;  // it has the bytes
}

}  // namespace latpred::readers
