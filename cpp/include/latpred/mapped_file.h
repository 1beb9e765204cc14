#pragma once

#include <string>
#include <string_view>

namespace latpred {

// A file's bytes, mapped read-only: pages are loaded when they are touched, so that a file larger than memory costs
// what is read of it. The file must not be shortened while it is mapped.
class MappedFile {
 public:
  // Throws ModelFileError where `path` is missing, no regular file, unreadable or empty.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] std::string_view content() const { return content_; }

 private:
  std::string_view content_;
};

}  // namespace latpred
