#include "predictors/packed_kernels.h"

namespace latpred {

#if defined(__x86_64__)
extern const PackedKernels kAvx512Kernels;
extern const PackedKernels kAvx2Kernels;
#endif
extern const PackedKernels kPortableKernels;

std::vector<const PackedKernels*> packed_kernels() {
  return {
#if defined(__x86_64__)
      &kAvx512Kernels, &kAvx2Kernels,
#endif
      &kPortableKernels};
}

const PackedKernels& fastest_packed_kernels() {
  for (const PackedKernels* kernels : packed_kernels()) {
    if (kernels->is_supported()) return *kernels;
  }
  return kPortableKernels;
}

Dropout dropout_of(double share, std::uint32_t key) {
  constexpr double kHashes = 4294967296.0;  // 2^32
  return {key, static_cast<std::uint32_t>(share * kHashes), static_cast<float>(1 / (1 - share)), 0};
}

namespace {

std::int64_t padded(std::int64_t nodes) { return (nodes + kScoreUnit - 1) / kScoreUnit * kScoreUnit; }

}  // namespace

std::int64_t attention_scratch_size(std::int64_t nodes, std::int64_t head_width) {
  return (head_width + nodes) * padded(nodes);  // keys or values turned, and the gradients of the scores
}

std::int64_t attention_shares_size(std::int64_t nodes, std::int64_t heads) { return heads * nodes * padded(nodes); }

}  // namespace latpred
