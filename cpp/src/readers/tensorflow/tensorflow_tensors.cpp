#include "readers/tensorflow/tensorflow_tensors.h"

#include <vector>

#include "latpred/text.h"
#include "readers/stored_values.h"

namespace latpred::readers::tensorflow {
namespace {

// Fields of TensorProto that hold content by type; tensor_content is the alternative to all of them.
constexpr std::uint32_t kTensorContent = 4;
constexpr std::uint32_t kFloatVal = 5;
constexpr std::uint32_t kDoubleVal = 6;
constexpr std::uint32_t kIntVal = 7;
constexpr std::uint32_t kInt64Val = 10;
constexpr std::uint32_t kBoolVal = 11;
constexpr std::uint32_t kHalfVal = 13;
constexpr std::uint32_t kUint32Val = 16;
constexpr std::uint32_t kUint64Val = 17;

struct TypedField {
  DType dtype;
  std::uint32_t number;
};
constexpr TypedField kTypedFields[] = {
    {DType::float32, kFloatVal}, {DType::float64, kDoubleVal}, {DType::int64, kInt64Val},   {DType::boolean, kBoolVal},
    {DType::float16, kHalfVal},  {DType::bfloat16, kHalfVal},  {DType::uint32, kUint32Val}, {DType::uint64, kUint64Val},
};

// All others stand in int_val.
std::uint32_t typed_field(DType dtype) {
  for (const TypedField& field : kTypedFields) {
    if (field.dtype == dtype) return field.number;
  }
  return kIntVal;
}

std::int64_t checked_num_elements(const Source& source, const TensorMessage& tensor) {
  std::int64_t count = 1;
  bool has_zero = false;
  for (const std::int64_t size : tensor.shape) {
    if (size < 0) source.fail(concat("a constant has the size ", shape_text(tensor.shape)), tensor.offset);
    has_zero = has_zero || size == 0;
  }
  if (has_zero) return 0;
  for (const std::int64_t size : tensor.shape) {
    // 16 bytes is the widest element: its bytes must be countable too.
    if (count > INT64_MAX / 16 / size) {
      source.fail(concat("a constant of size ", shape_text(tensor.shape), " has more elements than any machine holds"),
                  tensor.offset);
    }
    count *= size;
  }
  return count;
}

std::vector<std::uint64_t> typed_words(const Source& source, const TensorMessage& tensor) {
  const std::uint32_t number = typed_field(tensor.dtype);
  const auto limit = static_cast<std::size_t>(tensor.num_elements);
  std::vector<std::uint64_t> words;
  WireReader reader(source, tensor.body);
  for (WireField field; words.size() <= limit && reader.next(field);) {
    if (field.number != number) continue;
    if (field.type != WireType::length_delimited) {
      words.push_back(field.bits);
      continue;
    }
    WireReader packed(source, field.bytes);
    const auto next = number == kFloatVal    ? &WireReader::next_fixed32
                      : number == kDoubleVal ? &WireReader::next_fixed64
                                             : &WireReader::next_varint;
    for (std::uint64_t bits = 0; words.size() <= limit && (packed.*next)(bits);) words.push_back(bits);
  }
  return words;
}

}  // namespace

TensorMessage parse_tensor(const Source& source, Message message) {
  TensorMessage tensor{.body = message, .offset = source.offset_of(message.data())};
  bool has_content = false;
  WireReader reader(source, message);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) tensor.dtype = dtype_of(integer_of(source, field));
    if (field.number == 2) {
      for (const Dimension& dimension : parse_shape(source, bytes_of(source, field)).dimensions) {
        tensor.shape.push_back(dimension.size);
      }
    }
    if (field.number == kTensorContent) {
      tensor.raw = bytes_of(source, field);
      has_content = !tensor.raw.empty();
    }
  }
  tensor.num_elements = checked_num_elements(source, tensor);
  if (has_content && tensor.dtype != DType::undefined && tensor.dtype != DType::string) {
    const std::int64_t bits = dtype_row(tensor.dtype).size_bits;
    // Types of less than a byte take one each here.
    const std::int64_t expected = bits < 8 ? tensor.num_elements : tensor.num_elements * (bits / 8);
    const auto found = static_cast<std::int64_t>(tensor.raw.size());
    if (found != expected) {
      source.fail_as_damaged(
          concat("the constant of size ", shape_text(tensor.shape), " ", dtype_row(tensor.dtype).name, " at byte ",
                 tensor.offset, " needs ", grouped_digits(expected), " bytes, holds ", grouped_digits(found)),
          tensor.offset);
    }
  }
  return tensor;
}

std::shared_ptr<const Value> decode_value(const Source& source, const TensorMessage& tensor) {
  if (bits_of_element(tensor.dtype) < 8) return nullptr;
  const bool is_real = dtype_row(tensor.dtype).is_floating;
  if (tensor.num_elements > (is_real ? kMaxFoldedReals : kMaxFoldedElements)) return nullptr;
  const auto count = static_cast<std::size_t>(tensor.num_elements);
  std::vector<std::uint64_t> words =
      tensor.raw.empty() ? typed_words(source, tensor) : packed_words(tensor.dtype, tensor.raw);
  if (words.size() > count) {
    source.fail_as_damaged(concat("the constant of size ", shape_text(tensor.shape), " at byte ", tensor.offset,
                                  " holds more than its ", count, " elements"),
                           tensor.offset);
  }
  // The last element repeats: that is how the format stores a fill; none at all is zero.
  words.resize(count, words.empty() ? 0 : words.back());
  return value_of_words(tensor.dtype, tensor.shape, words);
}

}  // namespace latpred::readers::tensorflow
