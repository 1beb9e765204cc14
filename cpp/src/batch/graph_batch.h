#pragma once

#include <ATen/core/Tensor.h>

#include <span>
#include <vector>

#include "batch/graph_table.h"

namespace latpred {

// The edges that messages go along, sorted by the node that they reach: those of node n are first[n] to first[n + 1].
struct Neighbours {
  at::Tensor first;   // [n + 1]
  at::Tensor source;  // [e]
  at::Tensor target;  // [e]

  [[nodiscard]] std::int64_t num_nodes() const { return first.numel() - 1; }
};

// `pairs` (source, target) as Neighbours. `undirected`: each also the other way round, once.
[[nodiscard]] Neighbours neighbours_of(std::vector<std::pair<std::int64_t, std::int64_t>> pairs, std::int64_t num_nodes,
                                       bool undirected);
// The same with an edge from each node to itself.
[[nodiscard]] Neighbours with_self_loops(const Neighbours& neighbours);

// Some graphs of a GraphTable as one graph that is not connected: b graphs, n nodes, e edges.
struct GraphBatch {
  at::Tensor nodes;       // float [n, F]
  at::Tensor operators;   // [n]; undefined where nodes have none
  at::Tensor columns;     // float [b, S]
  at::Tensor graph;       // [n]: node -> graph of the batch
  at::Tensor first_node;  // [b + 1]
  at::Tensor source;      // [e] in the table's order
  at::Tensor target;      // [e]
  Neighbours neighbours;

  at::Tensor fusible;  // [e]; these four undefined where the table has none
  at::Tensor types;    // [b]
  at::Tensor targets;  // double [b, T]
  at::Tensor bases;    // double [b, T]; ones where the table has none

  at::Tensor sum;     // [b]: graph -> sum of the batch; these three undefined where the table has no sums
  at::Tensor counts;  // double [b]
  at::Tensor sums;    // double [r, T]

  [[nodiscard]] std::int64_t num_graphs() const { return first_node.numel() - 1; }
  [[nodiscard]] std::int64_t num_nodes() const { return graph.numel(); }
};

// Where the edges of each graph of a checked table begin: [G + 1].
[[nodiscard]] std::vector<std::int64_t> first_edges(const GraphTable& table);

// The graphs `which` of a checked table; where it has sums, all terms of each behind each other.
[[nodiscard]] GraphBatch collate(const GraphTable& table, std::span<const std::int64_t> first_edge,
                                 std::span<const std::int64_t> which, bool undirected);

}  // namespace latpred
