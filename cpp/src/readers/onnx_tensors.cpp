#include "readers/onnx_tensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "latpred/text.h"

namespace latpred::readers {
namespace {

// Fields of TensorProto that hold content by type; raw_data is the alternative to all of them.
constexpr std::uint32_t kFloatData = 4;
constexpr std::uint32_t kInt32Data = 5;
constexpr std::uint32_t kInt64Data = 7;
constexpr std::uint32_t kDoubleData = 10;
constexpr std::uint32_t kUint64Data = 11;

double half_to_real(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int fraction = bits & 0x3ff;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 0x1f) return fraction != 0 ? std::nan("") : sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

double bfloat16_to_real(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

std::int64_t sign_extended(std::uint64_t bits, int width) {
  const int unused = 64 - width;
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

// How one element type is stored in a file, and how its bits become a number.
struct Coding {
  DType dtype;
  int bits;                            // of one element in raw content
  std::uint32_t field;                 // of typed content
  bool is_signed;                      // integers
  double (*real)(std::uint64_t bits);  // floating point; nullptr for integers
};

// Element types that take part in shape arithmetic. Complex numbers, texts and the 8- and 4-bit floating types do not:
// no size is ever computed from them.
constexpr Coding kCodings[] = {
    {DType::float32, 32, kFloatData, true,
     [](std::uint64_t bits) -> double { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }},
    {DType::float64, 64, kDoubleData, true, [](std::uint64_t bits) { return std::bit_cast<double>(bits); }},
    {DType::float16, 16, kInt32Data, true,
     [](std::uint64_t bits) { return half_to_real(static_cast<std::uint16_t>(bits)); }},
    {DType::bfloat16, 16, kInt32Data, true,
     [](std::uint64_t bits) { return bfloat16_to_real(static_cast<std::uint16_t>(bits)); }},
    {DType::int64, 64, kInt64Data, true, nullptr},
    {DType::int32, 32, kInt32Data, true, nullptr},
    {DType::int16, 16, kInt32Data, true, nullptr},
    {DType::int8, 8, kInt32Data, true, nullptr},
    {DType::uint8, 8, kInt32Data, false, nullptr},
    {DType::uint16, 16, kInt32Data, false, nullptr},
    {DType::uint32, 32, kUint64Data, false, nullptr},
    {DType::uint64, 64, kUint64Data, false, nullptr},
    {DType::boolean, 8, kInt32Data, false, nullptr},
    {DType::int4, 4, kInt32Data, true, nullptr},
    {DType::uint4, 4, kInt32Data, false, nullptr},
    {DType::int2, 2, kInt32Data, true, nullptr},
    {DType::uint2, 2, kInt32Data, false, nullptr},
};

const Coding* coding_of(DType dtype) {
  for (const Coding& coding : kCodings) {
    if (coding.dtype == dtype) return &coding;
  }
  return nullptr;
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

std::vector<std::uint64_t> raw_words(const TensorMessage& tensor, int bits) {
  const std::size_t bytes = static_cast<std::size_t>(std::max(bits / 8, 1));
  std::vector<std::uint64_t> words(tensor.raw.size() / bytes);
  for (std::size_t i = 0; i < words.size(); ++i) std::memcpy(&words[i], tensor.raw.data() + i * bytes, bytes);
  return words;
}

std::vector<std::uint64_t> unpacked(const std::vector<std::uint64_t>& words, int bits, std::int64_t count) {
  std::vector<std::uint64_t> elements;
  elements.reserve(static_cast<std::size_t>(count));
  const int per_word = 8 / bits;
  for (const std::uint64_t word : words) {
    for (int i = 0; i < per_word && static_cast<std::int64_t>(elements.size()) < count; ++i) {
      elements.push_back(word >> (i * bits));
    }
  }
  return elements;
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
  const Coding* const coding = coding_of(tensor.dtype);
  if (coding == nullptr) return nullptr;
  std::vector<std::uint64_t> words =
      tensor.has_raw ? raw_words(tensor, coding->bits) : typed_words(source, tensor, coding->field);
  if (coding->bits < 8) words = unpacked(words, coding->bits, tensor.num_elements);
  if (static_cast<std::int64_t>(words.size()) != tensor.num_elements) {
    if (words.empty()) return nullptr;  // weights taken out of the file: the sizes are all that is needed
    source.fail_as_damaged(
        concat("tensor '", tensor.name, "' of size ", shape_text(tensor.dims), " has ", tensor.num_elements,
               " elements, holds ", static_cast<std::int64_t>(words.size()) > tensor.num_elements ? "more" : "fewer"),
        tensor.offset);
  }
  auto value = std::make_shared<Value>(Value{.dtype = tensor.dtype, .shape = tensor.dims});
  if (coding->real != nullptr) {
    value->reals.reserve(words.size());
    for (const std::uint64_t word : words) value->reals.push_back(coding->real(word));
    return value;
  }
  value->integers.reserve(words.size());
  for (const std::uint64_t word : words) {
    if (coding->is_signed) {
      value->integers.push_back(sign_extended(word, coding->bits));
      continue;
    }
    const std::uint64_t mask = coding->bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << coding->bits) - 1;
    const std::uint64_t element = word & mask;
    if (element > static_cast<std::uint64_t>(INT64_MAX)) return nullptr;  // no size: larger than any
    value->integers.push_back(static_cast<std::int64_t>(element));
  }
  return value;
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

}  // namespace latpred::readers
