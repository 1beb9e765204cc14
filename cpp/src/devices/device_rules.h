#pragma once

#include "latpred/device.h"

namespace latpred {

// Facts that no data sheet gives, by rule; each is flagged as estimated.
[[nodiscard]] Fact bandwidth_per_sm_rule(const Device& device);
[[nodiscard]] Fact idle_power_rule(const Device& device);
[[nodiscard]] Fact context_rule(const Device& device);

}  // namespace latpred
