#include "latpred/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(const std::string& path) : number_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~FileDescriptor() {
    if (number_ >= 0) close(number_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

[[noreturn]] void fail_to_open(const std::string& path, int reason) {
  const ErrorData data{.path = path};
  if (reason == ENOENT || reason == ENOTDIR) throw ModelFileError(concat("model file not found: '", path, "'"), data);
  if (reason == EACCES || reason == EPERM) {
    throw ModelFileError(concat("no permission to read model file '", path, "'"), data);
  }
  throw ModelFileError(concat("model file '", path, "' cannot be opened: ", std::strerror(reason)), data);
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  const FileDescriptor file(path);
  if (file.number() < 0) fail_to_open(path, errno);
  struct stat status{};
  if (fstat(file.number(), &status) != 0) fail_to_open(path, errno);
  const ErrorData data{.path = path};
  if (S_ISDIR(status.st_mode)) throw ModelFileError(concat("'", path, "' is a folder, not a model file"), data);
  if (!S_ISREG(status.st_mode)) throw ModelFileError(concat("'", path, "' is no regular file"), data);
  if (status.st_size == 0) throw ModelFileError(concat("model file '", path, "' is empty"), data);
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (address == MAP_FAILED) fail_to_open(path, errno);
  content_ = {static_cast<const char*>(address), size};
}

MappedFile::~MappedFile() {
  if (!content_.empty()) munmap(const_cast<char*>(content_.data()), content_.size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept : content_(std::exchange(other.content_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(content_, other.content_);
  return *this;
}

}  // namespace latpred
