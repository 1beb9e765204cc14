#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "readers/source.h"

namespace latpred::readers {

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, length_delimited = 2, fixed32 = 5 };

// One field of a protobuf message. Sub-messages, texts and packed lists are views into the file.
struct WireField {
  std::uint32_t number = 0;
  WireType type = WireType::varint;
  std::uint64_t bits = 0;   // varint and fixed values
  std::string_view bytes;   // length-delimited content
  std::int64_t offset = 0;  // of the field's tag in the file

  [[nodiscard]] std::int64_t integer() const { return static_cast<std::int64_t>(bits); }
  [[nodiscard]] double float32() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }
  [[nodiscard]] double float64() const { return std::bit_cast<double>(bits); }
};

// Walks the fields of one protobuf message, checking every length before it is believed. Content of length-delimited
// fields is not touched, so that weights cost nothing.
class WireReader {
 public:
  WireReader(const Source& source, std::string_view message)
      : source_(source), position_(message.data()), end_(message.data() + message.size()) {}

  // Reads the next field; false at the end of the message.
  bool next(WireField& field);
  // Reads a bare varint, as packed lists hold them; false at the end.
  bool next_varint(std::uint64_t& bits);
  // Reads four or eight bytes, as packed lists hold them; false at the end.
  bool next_fixed32(std::uint64_t& bits);
  bool next_fixed64(std::uint64_t& bits);
  // Where in the file the next field starts.
  [[nodiscard]] std::int64_t offset() const { return source_.offset_of(position_); }

 private:
  // Nearly every tag and length is one byte.
  std::uint64_t varint() {
    if (position_ != end_ && static_cast<std::uint8_t>(*position_) < 0x80) {
      return static_cast<std::uint8_t>(*position_++);
    }
    return long_varint();
  }
  std::uint64_t long_varint();
  template <typename T>
  std::uint64_t fixed(std::int64_t offset);

  const Source& source_;
  const char* position_;
  const char* end_;
};

// The views below refuse a field of another wire type than the format says.
[[nodiscard]] std::string_view bytes_of(const Source& source, const WireField& field);
[[nodiscard]] std::int64_t integer_of(const Source& source, const WireField& field);
// The content as a name or a sentence; refuses bytes that are not UTF-8, which no message could show.
[[nodiscard]] std::string_view text_of(const Source& source, const WireField& field);

[[nodiscard]] bool is_utf8(std::string_view text);

}  // namespace latpred::readers
