#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace latpred {

// Begins where a cache line does: a vector register that straddles two lines costs two loads.
template <typename Value>
struct LineAllocator {
  using value_type = Value;
  static constexpr std::align_val_t kLine{64};

  LineAllocator() = default;
  template <typename Other>
  explicit LineAllocator(const LineAllocator<Other>&) {}

  Value* allocate(std::size_t n) { return static_cast<Value*>(::operator new(n * sizeof(Value), kLine)); }
  void deallocate(Value* place, std::size_t) { ::operator delete(place, kLine); }
  friend bool operator==(const LineAllocator&, const LineAllocator&) { return true; }
};
using AlignedFloats = std::vector<float, LineAllocator<float>>;

}  // namespace latpred
