#pragma once

// Written by `python -m latpred.fitting.network_energy`; change it there.
// Source: data/measurements/gpu_campaign (Apache-2.0): 8 networks in eager PyTorch on an H200.
// Error of mean power in percent at measured times of kernels, each network left out of the fit:
//   MAPE 3.4, median 2.2, most 10.3
//   coefficients of half-precision products and attention: MAPE 14.6
//   one power for all: MAPE 18.6

namespace latpred {

// Shares of what lies between idle and the board limit, of all kernels but those of power_coefficients.h.
inline constexpr double kNetworkActiveShare = 0.4713;
inline constexpr double kNetworkMemoryShare = 0.8153;
// Root mean square on the log scale, networks left out.
inline constexpr double kNetworkPowerLogSd = 0.0474;

}  // namespace latpred
