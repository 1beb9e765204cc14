#pragma once

#include <string>

#include "latpred/graph.h"

namespace latpred {

// One line for each node: "conv_1: conv(data [1, 3, 224, 224], w [64, 3, 7, 7]) -> c1 [1, 64, 112, 112]".
[[nodiscard]] std::string to_text(const Graph& graph);

}  // namespace latpred
