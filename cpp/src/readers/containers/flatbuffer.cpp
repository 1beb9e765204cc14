#include "readers/containers/flatbuffer.h"

#include <bit>

#include "latpred/text.h"
#include "readers/containers/wire.h"

namespace latpred::readers {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are read as they stand");

// An honest file is copied about once; writers may share equal texts and vectors.
constexpr std::size_t kBudgetFactor = 2;
constexpr std::size_t kBudgetBase = 1U << 20U;

constexpr std::size_t kLayoutHeader = 4;  // its own size and the table's, two bytes each

}  // namespace

Flatbuffer::Flatbuffer(const Source& source)
    : source_(source), budget_bytes_(kBudgetFactor * source.content.size() + kBudgetBase) {}

std::string_view Flatbuffer::checked(std::size_t position, std::size_t size) const {
  const std::size_t whole = source_.content.size();
  if (position > whole || size > whole - position) {
    source_.fail_as_damaged(concat(size, " bytes at byte ", position, " run past its end at byte ", whole),
                            static_cast<std::int64_t>(position));
  }
  return source_.content.substr(position, size);
}

std::size_t Flatbuffer::followed(std::size_t position) const {
  const auto offset = number<std::uint32_t>(position);
  if (offset == 0 || offset > source_.content.size() - position) {
    source_.fail_as_damaged(
        concat("the offset at byte ", position, " leads ", offset, " bytes on, outside of the file"),
        static_cast<std::int64_t>(position));
  }
  return position + offset;
}

void Flatbuffer::charge(std::size_t size_bytes) const {
  if (size_bytes > budget_bytes_) source_.fail_as_damaged("its parts together are far larger than the file", 0);
  budget_bytes_ -= size_bytes;
}

FlatTable Flatbuffer::root() const { return {*this, followed(0)}; }

FlatTable FlatTables::at(std::size_t index) const {
  if (index >= size_) {
    buffer_->source().fail_as_damaged(concat("entry ", index, " of a list of ", size_, " is asked for"),
                                      static_cast<std::int64_t>(position_));
  }
  return {*buffer_, buffer_->followed(position_ + index * sizeof(std::uint32_t))};
}

FlatTable::FlatTable(const Flatbuffer& buffer, std::size_t position) : buffer_(&buffer), position_(position) {
  // The layout may stand before or behind its table.
  const auto distance = static_cast<std::int64_t>(buffer.number<std::int32_t>(position));
  const std::int64_t offsets = static_cast<std::int64_t>(position) - distance;
  if (offsets < 0) {
    buffer.source().fail_as_damaged(concat("the table at byte ", position, " has its layout before the file"),
                                    static_cast<std::int64_t>(position));
  }
  offsets_ = static_cast<std::size_t>(offsets);
  offsets_size_ = buffer.number<std::uint16_t>(offsets_);
  size_ = buffer.number<std::uint16_t>(offsets_ + sizeof(std::uint16_t));
  if (offsets_size_ < kLayoutHeader) {
    buffer.source().fail_as_damaged(concat("the layout at byte ", offsets_, " has ", offsets_size_, " bytes"),
                                    static_cast<std::int64_t>(offsets_));
  }
  (void)buffer.checked(offsets_, offsets_size_);
  (void)buffer.checked(position_, size_);
}

std::size_t FlatTable::position_of(int field) const {
  const std::size_t entry = kLayoutHeader + static_cast<std::size_t>(field) * sizeof(std::uint16_t);
  if (entry + sizeof(std::uint16_t) > offsets_size_) return 0;
  const auto offset = buffer_->number<std::uint16_t>(offsets_ + entry);
  if (offset == 0) return 0;
  if (offset >= size_) {
    buffer_->source().fail_as_damaged(
        concat("field ", field, " of the table at byte ", position_, " stands outside of its ", size_, " bytes"),
        static_cast<std::int64_t>(position_));
  }
  return position_ + offset;
}

std::optional<FlatTable> FlatTable::table(int field) const {
  const std::size_t position = position_of(field);
  if (position == 0) return std::nullopt;
  return FlatTable(*buffer_, buffer_->followed(position));
}

FlatTables FlatTable::tables(int field) const {
  const std::string_view content = elements(field, sizeof(std::uint32_t));
  if (content.empty()) return {*buffer_, position_, 0};
  return {*buffer_, static_cast<std::size_t>(buffer_->source().offset_of(content.data())),
          content.size() / sizeof(std::uint32_t)};
}

std::string_view FlatTable::text(int field) const {
  const std::string_view content = elements(field, 1);
  buffer_->charge(content.size());
  if (!is_utf8(content)) {
    const std::int64_t offset = buffer_->source().offset_of(content.data());
    buffer_->source().fail_as_damaged(concat("the text at byte ", offset, " is not UTF-8"), offset);
  }
  return content;
}

std::string_view FlatTable::bytes(int field) const { return elements(field, 1); }

std::string_view FlatTable::elements(int field, std::size_t element_size) const {
  const std::size_t position = position_of(field);
  if (position == 0) return {};
  const std::size_t start = buffer_->followed(position);
  const std::size_t count = buffer_->number<std::uint32_t>(start);
  return buffer_->checked(start + sizeof(std::uint32_t), count * element_size);
}

}  // namespace latpred::readers
