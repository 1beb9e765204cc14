#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "latpred/device.h"
#include "latpred/memory.h"
#include "latpred/predict_request.h"

namespace latpred {

// The profile that `rule` (a row of the table in mig.cpp) picks, or nothing.
[[nodiscard]] std::optional<std::string> pick_mig_profile(const Device& device, std::string_view rule,
                                                          const MemoryEstimate& memory, const Interval& interval);

}  // namespace latpred
