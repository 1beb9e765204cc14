#pragma once

// Written by `python -m latpred.fitting.energy`; change it there.
// Source: aiconfigurator 095f58a5 (Apache-2.0), h200_sxm, vllm/0.22.0: 27294 bfloat16 GEMM and attention rows
// with a settled reading of board power on an H200. Error of power in percent, blocks of shapes held out:
//   all (27294), model: MAPE 15.4, median 10.7, p90 34.1
//   all (27294), constant power: MAPE 26.1, median 22.9, p90 53.3
//   all (27294), limit: MAPE 43.2, median 32.2, p90 102.7
//   gemm (9543), model: MAPE 8.5, median 1.4, p90 26.6
//   gemm (9543), constant power: MAPE 21.2, median 23.2, p90 23.9
//   gemm (9543), limit: MAPE 10.4, median 1.4, p90 30.9
//   context_attention (14223), model: MAPE 18.7, median 15.3, p90 34.1
//   context_attention (14223), constant power: MAPE 25.2, median 19.3, p90 53.4
//   context_attention (14223), limit: MAPE 55.5, median 51.6, p90 102.8
//   generation_attention (3528), model: MAPE 20.6, median 17.6, p90 40.6
//   generation_attention (3528), constant power: MAPE 42.6, median 31.4, p90 94.2
//   generation_attention (3528), limit: MAPE 82.5, median 73.8, p90 156.7

namespace latpred {

// Shares of what lies between idle and the board limit: see power_model.cpp.
inline constexpr double kActiveShare = 0.3957;
inline constexpr double kComputeProductShare = 0.8750;
inline constexpr double kComputeAttentionShare = 0.5255;
inline constexpr double kMemoryShare = 0.3958;
inline constexpr double kGapShare = 0.0894;
// Launch and drain of a kernel, in which the SMs draw little.
inline constexpr double kLaunchSeconds = 2e-06;
// On the log scale; holds 80 % of the rows, blocks held out.
inline constexpr double kPowerLogHalfWidth = 0.2507;

}  // namespace latpred
