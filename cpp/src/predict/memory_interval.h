#pragma once

#include "latpred/memory.h"
#include "latpred/session.h"

namespace latpred {

// 80 % interval of a memory estimate, bytes.
[[nodiscard]] Interval memory_interval(const MemoryEstimate& memory);

}  // namespace latpred
