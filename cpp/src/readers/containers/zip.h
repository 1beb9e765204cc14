#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "readers/source.h"

namespace latpred::readers {

// One file of a zip archive, as the directory at the archive's end lists it.
struct ZipEntry {
  std::string_view name;
  std::uint64_t size = 0;  // in bytes, unpacked
  std::uint64_t packed_size = 0;
  std::uint64_t offset = 0;  // of its local header
  std::uint32_t crc = 0;     // CRC-32 of its content
  std::uint16_t method = 0;  // 0: stored as it is
  std::uint16_t flags = 0;

  [[nodiscard]] bool is_stored() const { return method == 0; }
};

// A zip archive (ZIP64 too), read from its directory. Only directory and headers of what is asked for are touched, and
// nothing is unpacked: what frameworks write is stored. `source` must outlive it; views point into its content.
class ZipArchive {
 public:
  // Throws ModelFileError where the directory is missing or broken, two entries have one name, or one lies over
  // another.
  explicit ZipArchive(const Source& source);

  [[nodiscard]] const std::vector<ZipEntry>& entries() const { return entries_; }  // in the directory's order
  [[nodiscard]] const ZipEntry* find(std::string_view name) const;                 // nullptr where there is none
  // The first entry whose path ends in `suffix`, at a slash or as a whole: archives of torch have a root folder of any
  // name. nullptr where there is none.
  [[nodiscard]] const ZipEntry* find_ending(std::string_view suffix) const;

  // The bytes of `entry`; throws ModelFileError where it is packed, encrypted or its header is broken.
  [[nodiscard]] std::string_view stored(const ZipEntry& entry) const;
  // The same, its CRC checked: touches every byte, so not for weights.
  [[nodiscard]] std::string_view checked(const ZipEntry& entry) const;

 private:
  const Source& source_;
  std::vector<ZipEntry> entries_;
  std::vector<std::size_t> by_name_;  // indexes of entries_
};

// The names in the directory; empty where it is missing or broken. For looking at a file of any kind.
[[nodiscard]] std::vector<std::string_view> zip_entries(std::string_view content);

// CRC-32 as zip has it (polynomial 0xEDB88320).
[[nodiscard]] std::uint32_t crc32(std::string_view bytes);

}  // namespace latpred::readers
