#pragma once

#include <string_view>

#include "latpred/device.h"
#include "latpred/graph.h"

namespace latpred {

// Seconds that the caller's inputs need to reach the device from where `input_on` says they lie. Throws
// InvalidArgumentError for a place that is not in the table.
[[nodiscard]] double input_copy_s(const Graph& graph, const Device& device, std::string_view input_on);

}  // namespace latpred
