#pragma once

namespace latpred {

inline constexpr double kNormal80 = 1.2816;  // half-width of an 80 % interval of the normal distribution, in its sd

}  // namespace latpred
