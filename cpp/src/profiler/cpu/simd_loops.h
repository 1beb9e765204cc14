#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace latpred {

// Loops that keep one core's arithmetic or its memory busy, compiled for several instruction sets; the widest that this
// processor has is chosen when the program runs.
struct SimdLoops {
  std::string_view name;  // of the instruction set
  bool (*is_supported)();
  // `rounds` times kFmasPerRound fused multiply-adds on registers full of floats.
  void (*multiply_add)(std::int64_t rounds);
  double flops_per_round;
  // Reads `size_bytes` at `data` once; both are multiples of kReadAlignment.
  void (*read)(const std::byte* data, std::size_t size_bytes);
};

// Enough to hide the latency of four cycles on two units, few enough for sixteen registers.
inline constexpr std::size_t kFmasPerRound = 12;
inline constexpr std::size_t kReadAlignment = 1024;

[[nodiscard]] const SimdLoops& simd_loops();

}  // namespace latpred
