#pragma once

#include <vector>

#include "latpred/graph.h"
#include "latpred/operators.h"
#include "latpred/views.h"

namespace latpred {

// [tensors] whether PyTorch holds a tensor of four dimensions with its channels innermost: what a permutation makes of
// [batch, height, width, channels], and what convolutions, norms and point-wise operators then keep. `inputs` says it
// of the images that come in.
[[nodiscard]] std::vector<bool> find_channels_last(const Graph& graph, const std::vector<CostKind>& kinds,
                                                   const ViewInfo& views, bool inputs);

}  // namespace latpred
