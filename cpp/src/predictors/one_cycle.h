#pragma once

#include <cmath>
#include <numbers>

namespace latpred {

// The one-cycle schedule: the share of the highest learning rate when this share of all steps is done. Up in a fifth of
// the steps, then down to next to nothing, along cosines.
inline double one_cycle_rate(double share_done) {
  constexpr double kWarmShare = 0.2;
  constexpr double kFirstRate = 1.0 / 25;
  constexpr double kLastRate = 1e-4 / 25;
  const auto cosine = [](double from, double to, double done) {
    return to + (from - to) * (1 + std::cos(std::numbers::pi * done)) / 2;
  };
  return share_done < kWarmShare ? cosine(kFirstRate, 1, share_done / kWarmShare)
                                 : cosine(1, kLastRate, (share_done - kWarmShare) / (1 - kWarmShare));
}

}  // namespace latpred
