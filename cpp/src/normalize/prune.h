#pragma once

#include "latpred/graph.h"

namespace latpred {

// Drops nodes that nothing needs and tensors that no node names; outputs of nodes that nothing reads become absent.
void prune(Graph& graph);

}  // namespace latpred
