#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "latpred/graph.h"

namespace latpred {

// Which nodes run as one kernel, from which edges are said to be fusible. Nodes stand in execution order: every edge
// goes from a lower to a higher number.
struct Subgraphs {
  std::vector<std::int64_t> group;  // [N], numbered by their first node from 0
  std::int64_t num_groups = 0;
  std::int64_t num_split = 0;  // groups of connected nodes that no order of kernels could run whole
};

// Nodes that fusible edges connect form a group (union-find). Groups that wait for one another, as where a path leaves
// one and comes back, cannot each be one kernel: they are put together again edge by edge, in execution order, as far
// as there stays an order to run them in. Throws InvalidArgumentError for edges outside or against the order.
[[nodiscard]] Subgraphs extract_subgraphs(std::int64_t num_nodes, const std::vector<std::pair<NodeId, NodeId>>& edges,
                                          const std::vector<bool>& fusible /* [E] */);

}  // namespace latpred
