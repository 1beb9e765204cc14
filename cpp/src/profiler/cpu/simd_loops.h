#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace latpred {

// Loops that keep one core's arithmetic or its memory busy, compiled for several instruction sets; the widest that this
// processor has is chosen when the program runs.
struct SimdLoops {
  std::string_view name;  // of the instruction set
  bool (*is_supported)();
  // `rounds` times kFmasPerRound fused multiply-adds x = x / 2 + 1 / 2 on registers full of floats, the k-th of which
  // begins with k + 2; the sum of all lanes in the end.
  double (*multiply_add)(std::int64_t rounds);
  double flops_per_round;
  // Reads `size_bytes` at `data` once, both multiples of kReadAlignment: exclusive or of all 64-bit words.
  std::int64_t (*read)(const std::byte* data, std::size_t size_bytes);
};

// Enough to hide the latency of four cycles on two units, few enough for sixteen registers.
inline constexpr std::size_t kFmasPerRound = 12;
inline constexpr std::size_t kReadAlignment = 1024;

// Those that this processor can run, the widest first.
[[nodiscard]] std::vector<const SimdLoops*> supported_simd_loops();
[[nodiscard]] const SimdLoops& simd_loops();

}  // namespace latpred
