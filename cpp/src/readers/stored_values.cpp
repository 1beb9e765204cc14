#include "readers/stored_values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "latpred/dtype.h"

namespace latpred::readers {
namespace {

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

// How the bits of one element become a number.
struct Coding {
  DType dtype;
  int bits;
  bool is_signed;                      // integers
  double (*real)(std::uint64_t bits);  // floating point; nullptr for integers
};

constexpr Coding kCodings[] = {
    {DType::float32, 32, true,
     [](std::uint64_t bits) -> double { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }},
    {DType::float64, 64, true, [](std::uint64_t bits) { return std::bit_cast<double>(bits); }},
    {DType::float16, 16, true, [](std::uint64_t bits) { return half_to_real(static_cast<std::uint16_t>(bits)); }},
    {DType::bfloat16, 16, true, [](std::uint64_t bits) { return bfloat16_to_real(static_cast<std::uint16_t>(bits)); }},
    {DType::int64, 64, true, nullptr},
    {DType::int32, 32, true, nullptr},
    {DType::int16, 16, true, nullptr},
    {DType::int8, 8, true, nullptr},
    {DType::uint8, 8, false, nullptr},
    {DType::uint16, 16, false, nullptr},
    {DType::uint32, 32, false, nullptr},
    {DType::uint64, 64, false, nullptr},
    {DType::boolean, 8, false, nullptr},
    {DType::int4, 4, true, nullptr},
    {DType::uint4, 4, false, nullptr},
    {DType::int2, 2, true, nullptr},
    {DType::uint2, 2, false, nullptr},
};

const Coding* coding_of(DType dtype) {
  for (const Coding& coding : kCodings) {
    if (coding.dtype == dtype) return &coding;
  }
  return nullptr;
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

int bits_of_element(DType dtype) {
  const Coding* const coding = coding_of(dtype);
  return coding != nullptr ? coding->bits : 0;
}

std::vector<std::uint64_t> packed_words(DType dtype, std::string_view content) {
  const auto bytes = static_cast<std::size_t>(std::max(bits_of_element(dtype) / 8, 1));
  std::vector<std::uint64_t> words(content.size() / bytes);
  for (std::size_t i = 0; i < words.size(); ++i) std::memcpy(&words[i], content.data() + i * bytes, bytes);
  return words;
}

std::shared_ptr<const Value> value_of_words(DType dtype, const Shape& shape, const std::vector<std::uint64_t>& words) {
  const Coding* const coding = coding_of(dtype);
  if (coding == nullptr) return nullptr;
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(count, size, &count)) return nullptr;
  }
  const bool is_small = coding->bits < 8;
  if (!is_small && static_cast<std::int64_t>(words.size()) != count) return nullptr;
  if (is_small && static_cast<std::int64_t>(words.size()) != packed_bytes(dtype, count)) return nullptr;
  auto value = std::make_shared<Value>(Value{.dtype = dtype, .shape = shape, .integers = {}, .reals = {}});
  const std::vector<std::uint64_t>& elements = is_small ? unpacked(words, coding->bits, count) : words;
  if (coding->real != nullptr) {
    value->reals.reserve(elements.size());
    for (const std::uint64_t word : elements) value->reals.push_back(coding->real(word));
    return value;
  }
  value->integers.reserve(elements.size());
  for (const std::uint64_t word : elements) {
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

}  // namespace latpred::readers
