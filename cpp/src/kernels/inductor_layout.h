#pragma once

#include "latpred/graph.h"

namespace latpred {

// Whether torch.compile gives every convolution of an inference graph its image with the channels innermost, whatever
// order the caller chose.
[[nodiscard]] bool runs_channels_last(const Graph& graph);

}  // namespace latpred
