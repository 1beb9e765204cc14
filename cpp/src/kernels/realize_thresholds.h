#pragma once

#include <cstddef>

namespace latpred {

// How many tensors Inductor lets a point-wise result read before it writes it: realize_reads_threshold, where several
// operators use it, and realize_acc_reads_threshold of torch/_inductor/config.py.
inline constexpr std::size_t kMostReadsOfShared = 4;
inline constexpr std::size_t kMostReads = 8;

}  // namespace latpred
