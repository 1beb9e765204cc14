#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "readers/source.h"

namespace latpred::readers {

class FlatTable;

// A flatbuffer: tables that point at tables, vectors and texts by offsets. Every offset and length is checked before it
// is followed. Content may be pointed at many times, which would let a small file ask for any amount of copies: what is
// copied is counted, and ends at a multiple of the file's size.
class Flatbuffer {
 public:
  explicit Flatbuffer(const Source& source);

  [[nodiscard]] FlatTable root() const;
  [[nodiscard]] const Source& source() const { return source_; }

  // A number at `position` of the file.
  template <typename T>
  [[nodiscard]] T number(std::size_t position) const {
    T value;
    std::memcpy(&value, checked(position, sizeof(T)).data(), sizeof(T));
    return value;
  }
  // The `size` bytes at `position`; throws ModelFileError where they run past the end.
  [[nodiscard]] std::string_view checked(std::size_t position, std::size_t size) const;
  // Where the offset that stands at `position` leads.
  [[nodiscard]] std::size_t followed(std::size_t position) const;
  // Counts what a caller is about to copy or make; throws ModelFileError where it is too much.
  void charge(std::size_t size_bytes) const;

 private:
  const Source& source_;
  mutable std::size_t budget_bytes_;
};

// A vector of tables, followed one by one.
class FlatTables {
 public:
  FlatTables() = default;
  FlatTables(const Flatbuffer& buffer, std::size_t position, std::size_t size)
      : buffer_(&buffer), position_(position), size_(size) {}

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] FlatTable at(std::size_t index) const;  // throws ModelFileError outside

 private:
  const Flatbuffer* buffer_ = nullptr;
  std::size_t position_ = 0;  // of the first offset
  std::size_t size_ = 0;
};

// One table. Fields go by their number in the schema; absent ones have their default.
class FlatTable {
 public:
  FlatTable(const Flatbuffer& buffer, std::size_t position);

  [[nodiscard]] bool has(int field) const { return position_of(field) != 0; }
  template <typename T>
  [[nodiscard]] T number(int field, T fallback) const {
    const std::size_t position = position_of(field);
    return position == 0 ? fallback : buffer_->number<T>(position);
  }
  [[nodiscard]] std::optional<FlatTable> table(int field) const;
  [[nodiscard]] FlatTables tables(int field) const;
  [[nodiscard]] std::string_view text(int field) const;   // UTF-8; empty where absent
  [[nodiscard]] std::string_view bytes(int field) const;  // a vector of bytes, not copied
  template <typename T>
  [[nodiscard]] std::vector<T> numbers(int field) const {
    const std::string_view content = elements(field, sizeof(T));
    buffer_->charge(content.size());
    std::vector<T> result(content.size() / sizeof(T));
    if (!content.empty()) std::memcpy(result.data(), content.data(), content.size());
    return result;
  }
  [[nodiscard]] std::size_t position() const { return position_; }

 private:
  [[nodiscard]] std::size_t position_of(int field) const;  // 0 where absent
  [[nodiscard]] std::string_view elements(int field, std::size_t element_size) const;

  const Flatbuffer* buffer_;
  std::size_t position_;
  std::size_t offsets_;  // of the fields: the table's layout, which equal tables share
  std::size_t offsets_size_;
  std::size_t size_;
};

}  // namespace latpred::readers
