#pragma once

#include <cmath>

namespace latpred {

// Of a size or count, 0 where the kernel has none.
inline double log2_size(double value) { return value > 1 ? std::log2(value) : 0; }

// 1 or 0.
inline double is_multiple(double size, double step) { return size > 0 && std::fmod(size, step) == 0 ? 1 : 0; }

// The share of `size` rounded up to whole steps that is used.
inline double used_share(double size, double step) { return size > 0 ? size / (std::ceil(size / step) * step) : 1; }

}  // namespace latpred
