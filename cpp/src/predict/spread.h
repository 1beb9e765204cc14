#pragma once

namespace latpred {

// What one timing of one card says about the next: the spread of the ratio between two releases of torch on one
// RTX 3090 was 1.8 % (timm's tables). No interval of a network is narrower.
inline constexpr double kSmallestSpread = 0.018;

}  // namespace latpred
