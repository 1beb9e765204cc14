#pragma once

namespace latpred {

inline constexpr double kNormal80 = 1.2816;  // half-width of an 80 % interval of the normal distribution, in its sd

// What one timing of one card says about the next: the spread of the ratio between two releases of torch on one
// RTX 3090 was 1.8 % (timm's tables). No interval of a network is narrower.
inline constexpr double kSmallestSpread = 0.018;

}  // namespace latpred
