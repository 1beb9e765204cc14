#include "workloads/weight_pool.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>

#include "latpred/error.h"
#include "latpred/host_facts.h"
#include "latpred/text.h"

namespace latpred {
namespace {

constexpr std::int64_t kNumbersPerCacheLine = 64 / kBytesPerNumber;
// Random numbers are drawn for so many places and repeated: no kernel looks at values, and copying is faster than
// drawing. A prime, so that the repeats do not line up with the rows of a matrix.
constexpr std::int64_t kDrawn = 1'048'583;
// Uniform in +-0.05: ten layers of 16384 units stay finite, and ten of one unit stay normal numbers, which are the fast
// ones.
constexpr double kLargestWeight = 0.05;
constexpr std::uint64_t kSeed = 20240229;
// Larger than every last-level cache that is sold.
constexpr std::int64_t kLeastReuseBytes = std::int64_t{2} << 30;

std::int64_t numbers_in(std::int64_t size_bytes) {
  if (size_bytes < kBytesPerNumber) {
    throw InvalidArgumentError(
        concat("a pool of weights needs at least ", kBytesPerNumber, " bytes, got ", size_bytes));
  }
  const auto memory_bytes = host_facts().memory_bytes;
  if (memory_bytes && size_bytes > *memory_bytes) {
    throw InvalidArgumentError(concat("a pool of weights of ", grouped_digits(size_bytes), " bytes: this machine has ",
                                      grouped_digits(*memory_bytes), " bytes of memory; ask for a smaller pool"));
  }
  return size_bytes / kBytesPerNumber;
}

}  // namespace

WeightPool::WeightPool(std::int64_t size_bytes) : values_(at::empty({numbers_in(size_bytes)}, at::kFloat)) {
  const std::int64_t size = values_.numel();
  const std::int64_t drawn = std::min(size, kDrawn);
  values_.narrow(0, 0, drawn)
      .uniform_(-kLargestWeight, kLargestWeight, at::make_generator<at::CPUGeneratorImpl>(kSeed));
  auto* const begin = values_.mutable_data_ptr<float>();
  for (std::int64_t done = drawn; done < size; done += drawn) {
    std::memcpy(begin + done, begin, static_cast<std::size_t>(std::min(drawn, size - done) * kBytesPerNumber));
  }
}

at::Tensor WeightPool::take(at::IntArrayRef shape) {
  const std::int64_t count = c10::multiply_integers(shape);
  if (count > values_.numel()) {
    throw InvalidArgumentError(concat("a weight of shape ", shape_text(shape.vec()), " does not fit into the pool of ",
                                      grouped_digits(size_bytes()), " bytes; ask for a larger pool"));
  }
  if (next_ + count > values_.numel()) next_ = 0;
  const at::Tensor taken = values_.narrow(0, next_, count).view(shape);
  next_ += (count + kNumbersPerCacheLine - 1) / kNumbersPerCacheLine * kNumbersPerCacheLine;
  return taken;
}

void WeightPool::check_fits(std::int64_t total_bytes, std::int64_t largest_bytes) const {
  // At the end of the block a tensor that does not fit any more leaves room of up to its own size unused.
  const std::int64_t between_uses = size_bytes() - largest_bytes;
  if (total_bytes <= between_uses || between_uses >= kLeastReuseBytes) return;
  throw InvalidArgumentError(concat("a net with ", grouped_digits(total_bytes), " bytes of weights in a pool of ",
                                    grouped_digits(size_bytes()),
                                    ": it would read the same weights twice, and the second time from a cache; ask for "
                                    "a larger pool"));
}

std::int64_t WeightPool::size_bytes() const { return values_.numel() * kBytesPerNumber; }

}  // namespace latpred
