#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "onnx_writer.h"
#include "readers/containers/zip.h"

// Writes zip archives byte by byte, so that tests can say exactly what stands in them, damage included.
namespace latpred::testing {

struct ZipItem {
  std::string name;
  std::string content;
  std::uint16_t method = 0;
  std::uint16_t flags = 0;
  bool is_zip64 = false;      // its numbers stand in the extra field
  std::int64_t offset = -1;   // what the directory says; -1: the truth
  std::int64_t size = -1;     // likewise
  std::uint32_t crc_xor = 0;  // 0: the right checksum
};

inline std::string zip_archive(const std::vector<ZipItem>& items, bool is_zip64 = false) {
  Proto entries;
  Proto directory;
  for (const ZipItem& item : items) {
    const std::uint64_t offset = item.offset >= 0 ? static_cast<std::uint64_t>(item.offset) : entries.text().size();
    const std::uint64_t size = item.size >= 0 ? static_cast<std::uint64_t>(item.size) : item.content.size();
    const std::uint32_t crc = readers::crc32(item.content) ^ item.crc_xor;
    const auto length = static_cast<std::uint16_t>(item.name.size());
    const auto in_32 = [&](std::uint64_t number) {
      return item.is_zip64 ? 0xFFFFFFFFU : static_cast<std::uint32_t>(number);
    };
    Proto local;
    local.raw(std::uint32_t{0x04034b50}).raw(std::uint16_t{20}).raw(item.flags).raw(item.method);
    local.raw(std::uint32_t{0}).raw(crc).raw(static_cast<std::uint32_t>(size)).raw(static_cast<std::uint32_t>(size));
    local.raw(length).raw(std::uint16_t{0});
    for (const std::string& text : {item.name, item.content}) {
      for (const char c : text) local.raw(c);
    }
    entries.append(local);
    directory.raw(std::uint32_t{0x02014b50}).raw(std::uint16_t{20}).raw(std::uint16_t{20}).raw(item.flags);
    directory.raw(item.method).raw(std::uint32_t{0}).raw(crc).raw(in_32(size)).raw(in_32(size)).raw(length);
    directory.raw(static_cast<std::uint16_t>(item.is_zip64 ? 28 : 0)).raw(std::uint16_t{0}).raw(std::uint16_t{0});
    directory.raw(std::uint16_t{0}).raw(std::uint32_t{0}).raw(in_32(offset));
    for (const char c : item.name) directory.raw(c);
    if (item.is_zip64) directory.raw(std::uint16_t{1}).raw(std::uint16_t{24}).raw(size).raw(size).raw(offset);
  }
  const std::uint64_t begin = entries.text().size();
  const std::uint64_t size = directory.text().size();
  const auto count = static_cast<std::uint64_t>(items.size());
  Proto end;
  if (is_zip64) {
    end.raw(std::uint32_t{0x06064b50}).raw(std::uint64_t{44}).raw(std::uint32_t{0}).raw(std::uint64_t{0});
    end.raw(count).raw(count).raw(size).raw(begin);
    end.raw(std::uint32_t{0x07064b50}).raw(std::uint32_t{0}).raw(begin + size).raw(std::uint32_t{1});
  }
  end.raw(std::uint32_t{0x06054b50}).raw(std::uint32_t{0}).raw(static_cast<std::uint16_t>(count));
  end.raw(static_cast<std::uint16_t>(count)).raw(is_zip64 ? 0xFFFFFFFFU : static_cast<std::uint32_t>(size));
  end.raw(is_zip64 ? 0xFFFFFFFFU : static_cast<std::uint32_t>(begin)).raw(std::uint16_t{0});
  return entries.append(directory).append(end).text();
}

}  // namespace latpred::testing
