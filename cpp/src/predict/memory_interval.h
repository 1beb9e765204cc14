#pragma once

#include "latpred/memory.h"
#include "latpred/predict_request.h"

namespace latpred {

// 80 % interval of a memory estimate, bytes.
[[nodiscard]] Interval memory_interval(const MemoryEstimate& memory);

}  // namespace latpred
