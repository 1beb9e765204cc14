#include "readers/zip.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace latpred::readers {
namespace {

// Sizes and offsets from the ZIP specification (APPNOTE 4.3).
constexpr std::size_t kEndSize = 22;
constexpr std::size_t kMaxComment = 65535;
constexpr std::size_t kLocatorSize = 20;
constexpr std::size_t kEnd64Size = 56;
constexpr std::size_t kEntrySize = 46;
constexpr std::string_view kEndSignature = "PK\x05\x06";
constexpr std::string_view kLocatorSignature = "PK\x06\x07";
constexpr std::string_view kEnd64Signature = "PK\x06\x06";
constexpr std::string_view kEntrySignature = "PK\x01\x02";

template <typename T>
T number_at(std::string_view content, std::size_t position) {
  T value;
  std::memcpy(&value, content.data() + position, sizeof(T));
  return value;
}

}  // namespace

std::vector<std::string_view> zip_entries(std::string_view content) {
  std::vector<std::string_view> names;
  if (content.size() < kEndSize) return names;
  const std::size_t tail = std::min(content.size(), kEndSize + kMaxComment);
  const std::size_t found = content.substr(content.size() - tail).rfind(kEndSignature);
  if (found == std::string_view::npos) return names;
  const std::size_t end = content.size() - tail + found;
  if (content.size() - end < kEndSize) return names;
  std::uint64_t position = number_at<std::uint32_t>(content, end + 16);
  if (end >= kLocatorSize && content.substr(end - kLocatorSize, 4) == kLocatorSignature) {
    const auto end64 = number_at<std::uint64_t>(content, end - kLocatorSize + 8);
    if (content.size() < kEnd64Size || end64 > content.size() - kEnd64Size ||
        content.substr(end64, 4) != kEnd64Signature) {
      return names;
    }
    position = number_at<std::uint64_t>(content, end64 + 48);
  }
  while (position + kEntrySize <= end && content.substr(position, 4) == kEntrySignature) {
    const std::size_t name_size = number_at<std::uint16_t>(content, position + 28);
    const std::size_t extra_size = number_at<std::uint16_t>(content, position + 30);
    const std::size_t comment_size = number_at<std::uint16_t>(content, position + 32);
    if (position + kEntrySize + name_size > end) break;
    names.push_back(content.substr(position + kEntrySize, name_size));
    position += kEntrySize + name_size + extra_size + comment_size;
  }
  return names;
}

}  // namespace latpred::readers
