#include "profiler/cpu/simd_loops.h"

#include <array>
#include <utility>

namespace latpred {
namespace {

// Vector types of gcc and clang: one source for every instruction set. A function with a target attribute inlines the
// templates below and thereby compiles them for that target.
template <std::size_t kBytes>
struct Vectors {
  using Floats [[gnu::vector_size(kBytes)]] = float;
  using Integers [[gnu::vector_size(kBytes), gnu::may_alias]] = std::int64_t;
};

template <typename V, std::size_t... kIndices>
[[gnu::always_inline]] inline double multiply_add_loop(std::int64_t rounds, std::index_sequence<kIndices...>) {
  // Converges to 1 instead of growing or vanishing: numbers that are no longer normal would be slower. Not from 1
  // itself, which a compiler sees to stay there.
  const V factor = V{} + 0.5F;
  const V summand = V{} + 0.5F;
  std::array<V, sizeof...(kIndices)> sums{(V{} + static_cast<float>(kIndices + 2))...};
  for (std::int64_t i = 0; i < rounds; ++i) ((sums[kIndices] = sums[kIndices] * factor + summand), ...);
  double total = 0;
  for (const V& sum : sums) {
    for (std::size_t lane = 0; lane < sizeof(V) / sizeof(float); ++lane) total += sum[lane];
  }
  return total;
}

constexpr std::size_t kReadsPerRound = 8;

template <typename V, std::size_t... kIndices>
[[gnu::always_inline]] inline std::int64_t read_loop(const std::byte* data, std::size_t size_bytes,
                                                     std::index_sequence<kIndices...>) {
  static_assert(kReadAlignment % (sizeof(V) * sizeof...(kIndices)) == 0);
  const auto* vectors = reinterpret_cast<const V*>(data);
  std::array<V, sizeof...(kIndices)> sums{};
  for (std::size_t i = 0; i < size_bytes / sizeof(V); i += sizeof...(kIndices)) {
    ((sums[kIndices] ^= vectors[i + kIndices]), ...);
  }
  std::int64_t total = 0;
  for (const V& sum : sums) {
    for (std::size_t lane = 0; lane < sizeof(V) / sizeof(std::int64_t); ++lane) total ^= sum[lane];
  }
  return total;
}

template <std::size_t kBytes>
[[gnu::always_inline]] inline double multiply_add(std::int64_t rounds) {
  return multiply_add_loop<typename Vectors<kBytes>::Floats>(rounds, std::make_index_sequence<kFmasPerRound>());
}

template <std::size_t kBytes>
[[gnu::always_inline]] inline std::int64_t read(const std::byte* data, std::size_t size_bytes) {
  return read_loop<typename Vectors<kBytes>::Integers>(data, size_bytes, std::make_index_sequence<kReadsPerRound>());
}

template <std::size_t kBytes>
constexpr double flops_per_round() {
  return 2.0 * static_cast<double>(kFmasPerRound * kBytes / sizeof(float));
}

bool always() { return true; }
// SSE2 and NEON are part of their architectures.
double multiply_add_128(std::int64_t rounds) { return multiply_add<16>(rounds); }
std::int64_t read_128(const std::byte* data, std::size_t size_bytes) { return read<16>(data, size_bytes); }

#if defined(__x86_64__)
bool has_avx2() { return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0; }
[[gnu::target("avx2,fma")]] double multiply_add_avx2(std::int64_t rounds) { return multiply_add<32>(rounds); }
[[gnu::target("avx2")]] std::int64_t read_avx2(const std::byte* data, std::size_t size_bytes) {
  return read<32>(data, size_bytes);
}

bool has_avx512() { return __builtin_cpu_supports("avx512f") != 0; }
[[gnu::target("avx512f")]] double multiply_add_avx512(std::int64_t rounds) { return multiply_add<64>(rounds); }
[[gnu::target("avx512f")]] std::int64_t read_avx512(const std::byte* data, std::size_t size_bytes) {
  return read<64>(data, size_bytes);
}

constexpr std::array kLoops{
    SimdLoops{"avx512f", &has_avx512, &multiply_add_avx512, flops_per_round<64>(), &read_avx512},
    SimdLoops{"avx2+fma", &has_avx2, &multiply_add_avx2, flops_per_round<32>(), &read_avx2},
    SimdLoops{"sse2", &always, &multiply_add_128, flops_per_round<16>(), &read_128},
};
#else
constexpr std::array kLoops{
    SimdLoops{"128 bits", &always, &multiply_add_128, flops_per_round<16>(), &read_128},
};
#endif

}  // namespace

std::vector<const SimdLoops*> supported_simd_loops() {
  std::vector<const SimdLoops*> result;
  for (const SimdLoops& loops : kLoops) {
    if (loops.is_supported()) result.push_back(&loops);
  }
  return result;
}

const SimdLoops& simd_loops() { return *supported_simd_loops().front(); }

}  // namespace latpred
