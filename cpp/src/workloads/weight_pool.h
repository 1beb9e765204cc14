#pragma once

#include <ATen/core/TensorBody.h>

#include <cstdint>

namespace latpred {

inline constexpr std::int64_t kBytesPerNumber = 4;  // float32

// One block of random float32 numbers, filled once, that the weights of all nets are views of: a net is set up in
// microseconds, however large it is. Weights follow each other through the block and start again at its begin.
class WeightPool {
 public:
  // Throws InvalidArgumentError for less than one number, or more than the machine's memory.
  explicit WeightPool(std::int64_t size_bytes);

  // The next numbers as a contiguous tensor that starts at a cache line. Throws InvalidArgumentError for a tensor that
  // is larger than the block.
  [[nodiscard]] at::Tensor take(at::IntArrayRef shape);

  // Throws InvalidArgumentError where weights of so many bytes, the largest tensor among them so large, would meet
  // themselves again while they may still lie in a cache: they would be faster than a net with weights of its own.
  void check_fits(std::int64_t total_bytes, std::int64_t largest_bytes) const;

  [[nodiscard]] std::int64_t size_bytes() const;

 private:
  at::Tensor values_;  // [size]
  std::int64_t next_ = 0;
};

}  // namespace latpred
