#pragma once

#include <vector>

#include "latpred/graph.h"
#include "latpred/operators.h"
#include "latpred/storage.h"
#include "latpred/views.h"

namespace latpred {

struct InlinedNodes {
  std::vector<bool> written;  // [tensors] norms in front of activations that are computed again
  std::vector<bool> carried;  // [nodes] point-wise behind such an activation, and computed where it is
};

// What Inductor computes again in each kernel that reads it becomes a view:
// - padding by nothing;
// - an activation that wants its input more than once, behind a batch norm, in front of kernels that cannot run with it
//   (pools, reductions, concatenations, several of them), or of point-wise kernels that only these read. The norm is
//   written then, in the single precision that both compute in.
[[nodiscard]] InlinedNodes inline_nodes(const Graph& graph, const std::vector<CostKind>& kinds, ViewInfo& views,
                                        Storage& storage);

}  // namespace latpred
