#pragma once

#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

namespace latpred {

// PyTorch's CUDA caching allocator (c10/cuda/CUDACachingAllocator.cpp), one stream, default settings: which block
// serves a request, and how much it reserves from the driver. What it reserved it keeps, until the driver has no more
// to give: then it hands back every segment that nothing lives in.
class CachingAllocator {
 public:
  using Handle = std::int32_t;
  static constexpr Handle kNothing = -1;  // what an empty tensor gets

  explicit CachingAllocator(std::int64_t limit_bytes = std::numeric_limits<std::int64_t>::max())
      : limit_bytes_(limit_bytes) {}

  [[nodiscard]] Handle allocate(std::int64_t size_bytes);
  void release(Handle handle);

  [[nodiscard]] std::int64_t reserved_bytes() const { return reserved_bytes_; }
  [[nodiscard]] std::int64_t peak_reserved_bytes() const { return peak_reserved_bytes_; }  // above the limit: it failed
  [[nodiscard]] std::int64_t allocated_bytes() const { return allocated_bytes_; }          // requests, rounded up

 private:
  struct Block {
    std::int64_t size_bytes = 0;
    Handle previous = kNothing;  // neighbours in the same segment
    Handle next = kNothing;
    bool is_small = false;
    bool is_free = false;
  };
  // Free blocks by size, the oldest of a size first.
  using Pool = std::set<std::pair<std::int64_t, Handle>>;

  Pool& pool(const Block& block) { return block.is_small ? small_ : large_; }
  Handle take_free_block(std::int64_t size_bytes, bool is_small);
  Handle reserve_segment(std::int64_t size_bytes, bool is_small);
  void split(Handle handle, std::int64_t size_bytes);
  void absorb(Handle into, Handle neighbour, Handle far_neighbour, bool neighbour_is_before);
  Handle new_block(const Block& block);
  void release_free_segments();

  std::vector<Block> blocks_;
  std::vector<Handle> unused_;  // slots of blocks that were merged away
  Pool small_;
  Pool large_;
  std::int64_t limit_bytes_;
  std::int64_t reserved_bytes_ = 0;
  std::int64_t peak_reserved_bytes_ = 0;
  std::int64_t allocated_bytes_ = 0;
};

}  // namespace latpred
