#include "readers/containers/wire.h"

#include <algorithm>
#include <cstring>

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred::readers {
namespace {

static_assert(std::endian::native == std::endian::little, "fixed-size values are read as they stand");

constexpr int kMaxVarintBytes = 10;  // 64 bits, seven in each byte

[[noreturn]] void fail_wire_type(const Source& source, const WireField& field, std::string_view expected) {
  source.fail_as_damaged(concat("field ", field.number, " at byte ", field.offset, " has wire type ",
                                static_cast<int>(field.type), ", expected ", expected),
                         field.offset);
}

}  // namespace

void Source::fail_as_damaged(const std::string& what, std::int64_t offset) const {
  throw ModelFileError(concat("'", path, "' is damaged: ", what), {.path = path, .offset = offset});
}

void Source::fail(const std::string& what, std::int64_t offset) const {
  throw ModelFileError(concat("'", path, "': ", what), {.path = path, .offset = offset});
}

std::uint64_t WireReader::long_varint() {
  const char* const start = position_;
  std::uint64_t result = 0;
  for (int index = 0; index < kMaxVarintBytes; ++index) {
    if (position_ == end_) {
      source_.fail_as_damaged(concat("the number at byte ", source_.offset_of(start), " is cut off"),
                              source_.offset_of(start));
    }
    const auto byte = static_cast<std::uint8_t>(*position_++);
    result |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * index);
    if (byte < 0x80) return result;
  }
  source_.fail_as_damaged(
      concat("the number at byte ", source_.offset_of(start), " is longer than ", kMaxVarintBytes, " bytes"),
      source_.offset_of(start));
}

template <typename T>
std::uint64_t WireReader::fixed(std::int64_t offset) {
  if (static_cast<std::size_t>(end_ - position_) < sizeof(T)) {
    source_.fail_as_damaged(
        concat("the value at byte ", offset, " needs ", sizeof(T), " bytes, ", end_ - position_, " remain"), offset);
  }
  T value;
  std::memcpy(&value, position_, sizeof(T));
  position_ += sizeof(T);
  return value;
}

bool WireReader::next(WireField& field) {
  if (position_ == end_) return false;
  field.offset = offset();
  const std::uint64_t tag = varint();
  const std::uint64_t number = tag >> 3;
  if (number == 0 || number > 0x1fffffff) {
    source_.fail_as_damaged(concat("byte ", field.offset, " starts field number ", number, ", which no message has"),
                            field.offset);
  }
  field.number = static_cast<std::uint32_t>(number);
  field.bytes = {};
  field.bits = 0;
  switch (tag & 7) {
    case static_cast<std::uint64_t>(WireType::varint):
      field.type = WireType::varint;
      field.bits = varint();
      return true;
    case static_cast<std::uint64_t>(WireType::fixed64):
      field.type = WireType::fixed64;
      field.bits = fixed<std::uint64_t>(field.offset);
      return true;
    case static_cast<std::uint64_t>(WireType::fixed32):
      field.type = WireType::fixed32;
      field.bits = fixed<std::uint32_t>(field.offset);
      return true;
    case static_cast<std::uint64_t>(WireType::length_delimited): {
      field.type = WireType::length_delimited;
      const std::uint64_t size = varint();
      const auto remaining = static_cast<std::uint64_t>(end_ - position_);
      if (size > remaining) {
        const auto shown = static_cast<std::int64_t>(std::min<std::uint64_t>(size, INT64_MAX));
        source_.fail_as_damaged(
            concat("field ", field.number, " at byte ", field.offset, " says ", grouped_digits(shown), " bytes, ",
                   grouped_digits(static_cast<std::int64_t>(remaining)), " remain"),
            field.offset);
      }
      field.bytes = {position_, static_cast<std::size_t>(size)};
      position_ += size;
      return true;
    }
    default:
      source_.fail_as_damaged(concat("field ", field.number, " at byte ", field.offset, " has wire type ", tag & 7,
                                     ", which does not exist"),
                              field.offset);
  }
}

bool WireReader::next_varint(std::uint64_t& bits) {
  if (position_ == end_) return false;
  bits = varint();
  return true;
}

bool WireReader::next_fixed32(std::uint64_t& bits) {
  if (position_ == end_) return false;
  bits = fixed<std::uint32_t>(offset());
  return true;
}

bool WireReader::next_fixed64(std::uint64_t& bits) {
  if (position_ == end_) return false;
  bits = fixed<std::uint64_t>(offset());
  return true;
}

std::string_view bytes_of(const Source& source, const WireField& field) {
  if (field.type != WireType::length_delimited) fail_wire_type(source, field, "2 (bytes)");
  return field.bytes;
}

std::int64_t integer_of(const Source& source, const WireField& field) {
  if (field.type != WireType::varint) fail_wire_type(source, field, "0 (an integer)");
  return field.integer();
}

std::string_view text_of(const Source& source, const WireField& field) {
  const std::string_view text = bytes_of(source, field);
  if (!is_utf8(text)) {
    source.fail_as_damaged(concat("the text of field ", field.number, " at byte ", field.offset, " is not UTF-8"),
                           field.offset);
  }
  return text;
}

bool is_utf8(std::string_view text) {
  const auto is_continuation = [&](std::size_t i) { return i < text.size() && (text[i] & 0xc0) == 0x80; };
  // Eight bytes at once while they are plain ASCII, as nearly all names are.
  std::size_t i = 0;
  for (std::uint64_t word = 0; i + sizeof(word) <= text.size(); i += sizeof(word)) {
    std::memcpy(&word, text.data() + i, sizeof(word));
    if ((word & 0x8080808080808080U) != 0) break;
  }
  while (i < text.size()) {
    const auto lead = static_cast<std::uint8_t>(text[i]);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    // The second byte's range excludes overlong forms, surrogates and code points past U+10FFFF (RFC 3629).
    const std::size_t length = lead >= 0xc2 && lead <= 0xdf   ? 2
                               : (lead & 0xf0) == 0xe0        ? 3
                               : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                              : 0;
    if (length == 0) return false;
    for (std::size_t k = 1; k < length; ++k) {
      if (!is_continuation(i + k)) return false;
    }
    const auto second = static_cast<std::uint8_t>(text[i + 1]);
    if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) || (lead == 0xf0 && second < 0x90) ||
        (lead == 0xf4 && second > 0x8f)) {
      return false;
    }
    i += length;
  }
  return true;
}

}  // namespace latpred::readers
