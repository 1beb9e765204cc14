#include "allocator.h"

#include <algorithm>
#include <iterator>

namespace latpred {
namespace {

// The constants of c10/cuda/CUDACachingAllocator.cpp, under its names.
constexpr std::int64_t kMinBlockSize = 512;
constexpr std::int64_t kSmallSize = 1 << 20;       // largest request of the small pool
constexpr std::int64_t kSmallBuffer = 2 << 20;     // segment that small requests share
constexpr std::int64_t kMinLargeAlloc = 10 << 20;  // requests from here on get a segment of their own
constexpr std::int64_t kLargeBuffer = 20 << 20;    // segment that the requests between share
constexpr std::int64_t kRoundLarge = 2 << 20;

constexpr std::int64_t round_up(std::int64_t size, std::int64_t step) { return (size + step - 1) / step * step; }

constexpr std::int64_t segment_size(std::int64_t size) {
  if (size <= kSmallSize) return kSmallBuffer;
  return size < kMinLargeAlloc ? kLargeBuffer : round_up(size, kRoundLarge);
}

constexpr bool worth_splitting(std::int64_t remainder, bool is_small) {
  return is_small ? remainder >= kMinBlockSize : remainder > kSmallSize;
}

}  // namespace

CachingAllocator::Handle CachingAllocator::allocate(std::int64_t size_bytes) {
  if (size_bytes <= 0) return kNothing;
  const std::int64_t size = round_up(size_bytes, kMinBlockSize);
  const bool is_small = size <= kSmallSize;
  Handle handle = take_free_block(size, is_small);
  if (handle == kNothing) handle = reserve_segment(segment_size(size), is_small);
  if (worth_splitting(blocks_[handle].size_bytes - size, is_small)) split(handle, size);
  allocated_bytes_ += blocks_[handle].size_bytes;
  return handle;
}

void CachingAllocator::release(Handle handle) {
  if (handle == kNothing) return;
  allocated_bytes_ -= blocks_[handle].size_bytes;
  for (const bool before : {true, false}) {
    const Handle neighbour = before ? blocks_[handle].previous : blocks_[handle].next;
    if (neighbour == kNothing || !blocks_[neighbour].is_free) continue;
    pool(blocks_[neighbour]).erase({blocks_[neighbour].size_bytes, neighbour});
    const Handle far_neighbour = before ? blocks_[neighbour].previous : blocks_[neighbour].next;
    absorb(handle, neighbour, far_neighbour, before);
  }
  blocks_[handle].is_free = true;
  pool(blocks_[handle]).insert({blocks_[handle].size_bytes, handle});
}

CachingAllocator::Handle CachingAllocator::take_free_block(std::int64_t size_bytes, bool is_small) {
  Pool& free_blocks = is_small ? small_ : large_;
  const auto best = free_blocks.lower_bound({size_bytes, 0});
  if (best == free_blocks.end()) return kNothing;
  const Handle handle = best->second;
  free_blocks.erase(best);
  blocks_[handle].is_free = false;
  return handle;
}

CachingAllocator::Handle CachingAllocator::reserve_segment(std::int64_t size_bytes, bool is_small) {
  if (reserved_bytes_ > limit_bytes_ - size_bytes) release_free_segments();
  reserved_bytes_ += size_bytes;
  peak_reserved_bytes_ = std::max(peak_reserved_bytes_, reserved_bytes_);
  return new_block({.size_bytes = size_bytes, .is_small = is_small});
}

void CachingAllocator::release_free_segments() {
  for (Pool* free_blocks : {&small_, &large_}) {
    for (auto entry = free_blocks->begin(); entry != free_blocks->end();) {
      const auto [size_bytes, handle] = *entry;
      const bool is_whole_segment = blocks_[handle].previous == kNothing && blocks_[handle].next == kNothing;
      entry = is_whole_segment ? free_blocks->erase(entry) : std::next(entry);
      if (!is_whole_segment) continue;
      reserved_bytes_ -= size_bytes;
      unused_.push_back(handle);
    }
  }
}

void CachingAllocator::split(Handle handle, std::int64_t size_bytes) {
  Block rest = blocks_[handle];
  rest.size_bytes -= size_bytes;
  rest.previous = handle;
  rest.is_free = true;
  const Handle rest_handle = new_block(rest);
  if (rest.next != kNothing) blocks_[rest.next].previous = rest_handle;
  blocks_[handle].size_bytes = size_bytes;
  blocks_[handle].next = rest_handle;
  pool(rest).insert({rest.size_bytes, rest_handle});
}

void CachingAllocator::absorb(Handle into, Handle neighbour, Handle far_neighbour, bool neighbour_is_before) {
  blocks_[into].size_bytes += blocks_[neighbour].size_bytes;
  (neighbour_is_before ? blocks_[into].previous : blocks_[into].next) = far_neighbour;
  if (far_neighbour != kNothing) {
    (neighbour_is_before ? blocks_[far_neighbour].next : blocks_[far_neighbour].previous) = into;
  }
  unused_.push_back(neighbour);
}

CachingAllocator::Handle CachingAllocator::new_block(const Block& block) {
  if (unused_.empty()) {
    blocks_.push_back(block);
    return static_cast<Handle>(blocks_.size()) - 1;
  }
  const Handle handle = unused_.back();
  unused_.pop_back();
  blocks_[handle] = block;
  return handle;
}

}  // namespace latpred
