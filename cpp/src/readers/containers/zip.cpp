#include "readers/containers/zip.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>

#include "latpred/text.h"

namespace latpred::readers {
namespace {

// Sizes and offsets from the ZIP specification (APPNOTE 4.3).
constexpr std::size_t kEndSize = 22;
constexpr std::size_t kMaxComment = 65535;
constexpr std::size_t kLocatorSize = 20;
constexpr std::size_t kEnd64Size = 56;
constexpr std::size_t kEntrySize = 46;
constexpr std::size_t kLocalSize = 30;
constexpr std::string_view kEndSignature = "PK\x05\x06";
constexpr std::string_view kLocatorSignature = "PK\x06\x07";
constexpr std::string_view kEnd64Signature = "PK\x06\x06";
constexpr std::string_view kEntrySignature = "PK\x01\x02";
constexpr std::string_view kLocalSignature = "PK\x03\x04";
constexpr std::uint32_t kIn64 = 0xFFFFFFFF;    // the number stands in the ZIP64 extra field
constexpr std::uint16_t kExtra64 = 0x0001;     // that field's id
constexpr std::uint16_t kFlagEncrypted = 0x1;  // bit 0

template <typename T>
T number_at(std::string_view content, std::size_t position) {
  T value;
  std::memcpy(&value, content.data() + position, sizeof(T));
  return value;
}

struct Problem {
  std::string what;
  std::size_t offset;
};

struct Directory {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::uint64_t num_entries = 0;
};

std::optional<Problem> find_directory(std::string_view content, Directory& directory) {
  const std::size_t tail = std::min(content.size(), kEndSize + kMaxComment);
  const std::size_t found = content.substr(content.size() - tail).rfind(kEndSignature);
  if (found == std::string_view::npos || tail - found < kEndSize) {
    return Problem{"a zip archive without its directory, as when a download or a copy has been cut off",
                   content.size()};
  }
  const std::size_t end = content.size() - tail + found;
  directory.end = end;
  directory.num_entries = number_at<std::uint16_t>(content, end + 10);
  std::uint64_t size = number_at<std::uint32_t>(content, end + 12);
  std::uint64_t begin = number_at<std::uint32_t>(content, end + 16);
  if (end >= kLocatorSize && content.substr(end - kLocatorSize, 4) == kLocatorSignature) {
    const auto end64 = number_at<std::uint64_t>(content, end - kLocatorSize + 8);
    if (end < kLocatorSize + kEnd64Size || end64 > end - kLocatorSize - kEnd64Size ||
        content.substr(end64, 4) != kEnd64Signature) {
      return Problem{"its ZIP64 directory is not where the archive's end says", end - kLocatorSize};
    }
    directory.end = end64;
    directory.num_entries = number_at<std::uint64_t>(content, end64 + 32);
    size = number_at<std::uint64_t>(content, end64 + 40);
    begin = number_at<std::uint64_t>(content, end64 + 48);
  }
  if (begin > directory.end || size != directory.end - begin) {
    return Problem{concat("its zip directory of ", size, " bytes is said to be at byte ", begin,
                          ", which does not fit the archive's end at byte ", directory.end),
                   end};
  }
  directory.begin = begin;
  return std::nullopt;
}

// Numbers that do not fit 32 bits stand in an extra field, in this order, only those that are needed.
bool read_extra64(std::string_view extra, ZipEntry& entry) {
  const bool needs[] = {entry.size == kIn64, entry.packed_size == kIn64, entry.offset == kIn64};
  std::uint64_t* const numbers[] = {&entry.size, &entry.packed_size, &entry.offset};
  if (!needs[0] && !needs[1] && !needs[2]) return true;
  while (extra.size() >= 4) {
    const auto id = number_at<std::uint16_t>(extra, 0);
    const std::size_t size = number_at<std::uint16_t>(extra, 2);
    if (size > extra.size() - 4) return false;
    if (id != kExtra64) {
      extra.remove_prefix(4 + size);
      continue;
    }
    std::size_t position = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      if (!needs[i]) continue;
      if (position + sizeof(std::uint64_t) > size) return false;
      *numbers[i] = number_at<std::uint64_t>(extra, 4 + position);
      position += sizeof(std::uint64_t);
    }
    return true;
  }
  return false;
}

// Those entries that can be read, and what is wrong with the rest.
std::optional<Problem> read_entries(std::string_view content, std::vector<ZipEntry>& entries) {
  Directory directory;
  if (auto problem = find_directory(content, directory)) return problem;
  std::size_t position = directory.begin;
  while (position < directory.end) {
    const auto broken = [&](std::string_view what) { return Problem{concat("its zip directory ", what), position}; };
    if (directory.end - position < kEntrySize || content.substr(position, 4) != kEntrySignature) {
      return broken("has something else where an entry should be");
    }
    const std::size_t name_size = number_at<std::uint16_t>(content, position + 28);
    const std::size_t extra_size = number_at<std::uint16_t>(content, position + 30);
    const std::size_t comment_size = number_at<std::uint16_t>(content, position + 32);
    if (name_size + extra_size + comment_size > directory.end - position - kEntrySize) {
      return broken("ends in the middle of an entry");
    }
    ZipEntry entry{.name = content.substr(position + kEntrySize, name_size),
                   .size = number_at<std::uint32_t>(content, position + 24),
                   .packed_size = number_at<std::uint32_t>(content, position + 20),
                   .offset = number_at<std::uint32_t>(content, position + 42),
                   .crc = number_at<std::uint32_t>(content, position + 16),
                   .method = number_at<std::uint16_t>(content, position + 10),
                   .flags = number_at<std::uint16_t>(content, position + 8)};
    if (!read_extra64(content.substr(position + kEntrySize + name_size, extra_size), entry)) {
      return broken(concat("lacks the ZIP64 sizes of '", entry.name, "'"));
    }
    const std::size_t header_size = kLocalSize + name_size;
    if (entry.offset > directory.begin || header_size > directory.begin - entry.offset ||
        entry.packed_size > directory.begin - entry.offset - header_size) {
      return broken(concat("says that '", entry.name, "' has ", entry.packed_size, " bytes from byte ", entry.offset,
                           ", but the entries end at byte ", directory.begin));
    }
    entries.push_back(entry);
    position += kEntrySize + name_size + extra_size + comment_size;
  }
  if (entries.size() != directory.num_entries) {
    return Problem{concat("its zip directory has ", entries.size(), " entries, ", directory.num_entries, " expected"),
                   directory.begin};
  }
  return std::nullopt;
}

// Eight tables: a byte at a time would be the slowest step of reading an archive.
constexpr std::size_t kSlices = 8;
using CrcTables = std::array<std::array<std::uint32_t, 256>, kSlices>;

constexpr CrcTables make_crc_tables() {
  CrcTables tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320U : 0U);
    tables[0][i] = crc;
  }
  for (std::size_t slice = 1; slice < kSlices; ++slice) {
    for (std::size_t i = 0; i < 256; ++i) {
      const std::uint32_t before = tables[slice - 1][i];
      tables[slice][i] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}

constexpr CrcTables kCrcTables = make_crc_tables();

}  // namespace

std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  while (bytes.size() >= kSlices) {
    const auto word = number_at<std::uint64_t>(bytes, 0) ^ crc;
    crc = 0;
    for (std::size_t i = 0; i < kSlices; ++i) crc ^= kCrcTables[kSlices - 1 - i][(word >> (8 * i)) & 0xFF];
    bytes.remove_prefix(kSlices);
  }
  for (const char byte : bytes) crc = (crc >> 8) ^ kCrcTables[0][(crc ^ static_cast<unsigned char>(byte)) & 0xFF];
  return ~crc;
}

ZipArchive::ZipArchive(const Source& source) : source_(source) {
  if (const auto problem = read_entries(source.content, entries_)) {
    source.fail_as_damaged(problem->what, static_cast<std::int64_t>(problem->offset));
  }
  by_name_.resize(entries_.size());
  std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
  std::sort(by_name_.begin(), by_name_.end(),
            [&](std::size_t a, std::size_t b) { return entries_[a].name < entries_[b].name; });
  for (std::size_t i = 1; i < by_name_.size(); ++i) {
    const std::string_view name = entries_[by_name_[i]].name;
    if (name == entries_[by_name_[i - 1]].name) {
      source.fail_as_damaged(concat("the zip archive has two entries '", name, "'"), source.offset_of(name.data()));
    }
  }
  std::vector<const ZipEntry*> sorted;
  sorted.reserve(entries_.size());
  for (const ZipEntry& entry : entries_) sorted.push_back(&entry);
  std::sort(sorted.begin(), sorted.end(), [](const ZipEntry* a, const ZipEntry* b) { return a->offset < b->offset; });
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const ZipEntry& before = *sorted[i - 1];
    if (before.offset + kLocalSize + before.name.size() + before.packed_size > sorted[i]->offset) {
      source.fail_as_damaged(
          concat("the zip entries '", before.name, "' and '", sorted[i]->name, "' lie over one another"),
          static_cast<std::int64_t>(sorted[i]->offset));
    }
  }
}

const ZipEntry* ZipArchive::find(std::string_view name) const {
  const auto found =
      std::lower_bound(by_name_.begin(), by_name_.end(), name,
                       [&](std::size_t at, std::string_view wanted) { return entries_[at].name < wanted; });
  return found == by_name_.end() || entries_[*found].name != name ? nullptr : &entries_[*found];
}

const ZipEntry* ZipArchive::find_ending(std::string_view suffix) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const ZipEntry& entry) {
    if (!entry.name.ends_with(suffix)) return false;
    return entry.name.size() == suffix.size() || entry.name[entry.name.size() - suffix.size() - 1] == '/';
  });
  return found == entries_.end() ? nullptr : &*found;
}

std::string_view ZipArchive::stored(const ZipEntry& entry) const {
  const std::string_view content = source_.content;
  const auto at = static_cast<std::int64_t>(entry.offset);
  if ((entry.flags & kFlagEncrypted) != 0) {
    source_.fail(concat("its entry '", entry.name, "' is encrypted; unpack it and save it without a password"), at);
  }
  if (!entry.is_stored()) {
    source_.fail(concat("its entry '", entry.name, "' is packed (zip method ", entry.method,
                        "), which the framework itself does not do; unpack the archive and pack it again with zip -0"),
                 at);
  }
  // The directory has been checked: header, name and content lie before it.
  if (content.substr(entry.offset, 4) != kLocalSignature) {
    source_.fail_as_damaged(concat("the zip entry '", entry.name, "' does not start with its header"), at);
  }
  const std::size_t name_size = number_at<std::uint16_t>(content, entry.offset + 26);
  const std::size_t extra_size = number_at<std::uint16_t>(content, entry.offset + 28);
  const std::size_t begin = entry.offset + kLocalSize + name_size + extra_size;
  if (entry.size != entry.packed_size || begin > content.size() || entry.size > content.size() - begin ||
      content.substr(entry.offset + kLocalSize, name_size) != entry.name) {
    source_.fail_as_damaged(concat("the header of the zip entry '", entry.name, "' disagrees with the directory"), at);
  }
  return content.substr(begin, entry.size);
}

std::string_view ZipArchive::checked(const ZipEntry& entry) const {
  const std::string_view bytes = stored(entry);
  if (crc32(bytes) != entry.crc) {
    source_.fail_as_damaged(concat("the checksum of the zip entry '", entry.name, "' does not fit its content"),
                            source_.offset_of(bytes.data()));
  }
  return bytes;
}

std::vector<std::string_view> zip_entries(std::string_view content) {
  std::vector<ZipEntry> entries;
  (void)read_entries(content, entries);
  std::vector<std::string_view> names;
  names.reserve(entries.size());
  for (const ZipEntry& entry : entries) names.push_back(entry.name);
  return names;
}

}  // namespace latpred::readers
