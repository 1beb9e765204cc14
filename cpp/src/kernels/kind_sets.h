#pragma once

#include <cstdint>

#include "latpred/operators.h"

namespace latpred {

// Sets of kinds, one bit each.
using Kinds = std::uint32_t;
static_assert(kNumCostKinds <= 32);

constexpr Kinds of(CostKind kind) { return Kinds{1} << static_cast<unsigned>(kind); }

template <typename... Kind>
constexpr Kinds of(CostKind first, Kind... rest) {
  return of(first) | of(rest...);
}

constexpr bool has(Kinds kinds, CostKind kind) { return (kinds & of(kind)) != 0; }

inline constexpr Kinds kConvolutions =
    of(CostKind::conv, CostKind::conv_1x1, CostKind::conv_grouped, CostKind::conv_depthwise);
inline constexpr Kinds kProducts = of(CostKind::matmul, CostKind::batch_matmul);
inline constexpr Kinds kPointwise = of(CostKind::unary, CostKind::binary, CostKind::cast);
// Point-wise behind statistics of the same input.
inline constexpr Kinds kNormalising = of(CostKind::layer_norm, CostKind::group_norm, CostKind::softmax);
inline constexpr Kinds kNorms = kNormalising | of(CostKind::reduce);
inline constexpr Kinds kLibraries = kConvolutions | kProducts | of(CostKind::attention, CostKind::recurrent);
// Inductor's point-wise kernels, small pools and resizing among them: computed inside whatever reads them.
inline constexpr Kinds kInlined = kPointwise | of(CostKind::batch_norm, CostKind::copy, CostKind::concat,
                                                  CostKind::index, CostKind::resize, CostKind::pool);

}  // namespace latpred
