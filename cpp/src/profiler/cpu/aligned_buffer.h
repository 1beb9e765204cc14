#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

#include "profiler/cpu/simd_loops.h"

namespace latpred {

// Memory for SimdLoops::read, every page of it written once, so that it is there and all of its own.
class AlignedBuffer {
 public:
  explicit AlignedBuffer(std::size_t size_bytes)
      : data_(static_cast<std::byte*>(::operator new(size_bytes, kAlignment))), size_bytes_(size_bytes) {
    std::memset(data_.get(), 1, size_bytes);
  }
  [[nodiscard]] const std::byte* data() const { return data_.get(); }
  [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }

 private:
  static constexpr std::align_val_t kAlignment{kReadAlignment};
  struct Release {
    void operator()(std::byte* data) const { ::operator delete(data, kAlignment); }
  };

  std::unique_ptr<std::byte, Release> data_;
  std::size_t size_bytes_;
};

}  // namespace latpred
