#pragma once

namespace latpred {

// What numbers of data sheets, drivers and tables are counted in.
inline constexpr double kKilo = 1e3;
inline constexpr double kMega = 1e6;
inline constexpr double kGiga = 1e9;
inline constexpr double kTera = 1e12;
inline constexpr double kMebi = 1024.0 * 1024.0;
inline constexpr double kGibi = 1024.0 * kMebi;

}  // namespace latpred
