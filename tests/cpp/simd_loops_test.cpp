#include "profiler/cpu/simd_loops.h"

#include <gtest/gtest.h>

#include <random>

#include "profiler/cpu/aligned_buffer.h"

namespace latpred {
namespace {

// Each lane of sum k goes from k + 2 to (k + 3) / 2 and on: all twelve are computed, in every lane.
TEST(SimdLoops, multiply_add_does_every_operation_that_it_counts) {
  for (const SimdLoops* loops : supported_simd_loops()) {
    const double lanes = loops->flops_per_round / (2.0 * kFmasPerRound);
    for (const int rounds : {0, 1, 2}) {
      double expected = 0;
      for (std::size_t k = 0; k < kFmasPerRound; ++k) {
        double value = static_cast<double>(k + 2);
        for (int round = 0; round < rounds; ++round) value = value / 2 + 0.5;
        expected += lanes * value;
      }
      EXPECT_EQ(loops->multiply_add(rounds), expected) << loops->name << ", " << rounds << " rounds";
    }
  }
}

TEST(SimdLoops, read_sees_every_word) {
  const AlignedBuffer buffer(8 * kReadAlignment);
  std::mt19937_64 random(7);
  auto* words = reinterpret_cast<std::int64_t*>(const_cast<std::byte*>(buffer.data()));
  std::int64_t expected = 0;
  for (std::size_t i = 0; i < buffer.size_bytes() / sizeof(std::int64_t); ++i) {
    words[i] = static_cast<std::int64_t>(random());
    expected ^= words[i];
  }
  for (const SimdLoops* loops : supported_simd_loops()) {
    EXPECT_EQ(loops->read(buffer.data(), buffer.size_bytes()), expected) << loops->name;
  }
}

TEST(SimdLoops, the_widest_comes_first) {
  const std::vector<const SimdLoops*> supported = supported_simd_loops();
  EXPECT_EQ(supported.front(), &simd_loops());
  for (std::size_t i = 1; i < supported.size(); ++i) {
    EXPECT_GT(supported[i - 1]->flops_per_round, supported[i]->flops_per_round);
  }
}

}  // namespace
}  // namespace latpred
