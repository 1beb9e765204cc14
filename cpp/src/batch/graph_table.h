#pragma once

#include <cstdint>
#include <span>

namespace latpred {

// Directed graphs and what is known of them, as another owns it. Knows nothing of torch. G graphs, N nodes and E edges
// of all of them; an edge is numbered over all nodes and goes from a producer to a consumer of the same graph, edges of
// one graph stand together and graphs in order.
struct GraphTable {
  std::span<const double> nodes;             // [N, F], row-major
  std::span<const std::int64_t> operators;   // [N] 0 to num_operators - 1, or empty
  std::span<const std::int64_t> edges;       // [2, E]
  std::span<const std::int64_t> first_node;  // [G + 1]: the nodes of graph g are first_node[g] to [g + 1]
  std::span<const double> columns;           // [G, S] of whole graphs: device, partition, static features; or empty
  std::int64_t num_node_columns = 0;         // F
  std::int64_t num_graph_columns = 0;        // S
  std::int64_t num_operators = 0;            // 0 where nodes have none

  // What training learns from; empty where only a prediction is wanted.
  std::span<const std::int64_t> fusible;  // [E] 1 or 0; kNoLabel where nobody knows
  std::span<const double> targets;        // [G, T] seconds, bytes, ...; NaN where missing
  std::span<const std::int64_t> types;    // [G] 0 to num_types - 1; kNoLabel where nobody knows
  std::span<const double> bases;          // [G, T] > 0: physical bounds that targets are told as multiples of; or empty
  std::int64_t num_targets = 0;           // T
  std::int64_t num_types = 0;
  // Sums of targets, where more is known of some graphs together than of each: the kernels of a call, timed as a whole.
  // Every graph is a term of one of R sums, or there are none. Terms of a sum stand together.
  std::span<const std::int64_t> first_term;  // [R + 1]: graphs first_term[r] to [r + 1]
  std::span<const double> counts;            // [G] how often a graph is a term; 0 where it does not count
  std::span<const double> sums;              // [R, T]; NaN where missing

  [[nodiscard]] std::int64_t num_sums() const {
    return first_term.empty() ? 0 : static_cast<std::int64_t>(first_term.size()) - 1;
  }
  [[nodiscard]] std::int64_t num_graphs() const { return static_cast<std::int64_t>(first_node.size()) - 1; }
  [[nodiscard]] std::int64_t num_nodes() const { return first_node.empty() ? 0 : first_node.back(); }
  [[nodiscard]] std::int64_t num_edges() const { return static_cast<std::int64_t>(edges.size() / 2); }
  [[nodiscard]] std::int64_t source(std::int64_t edge) const { return edges[static_cast<std::size_t>(edge)]; }
  [[nodiscard]] std::int64_t target(std::int64_t edge) const {
    return edges[static_cast<std::size_t>(num_edges() + edge)];
  }
};

inline constexpr std::int64_t kNoLabel = -1;

// Refuses sizes that disagree, graphs without nodes, edges that leave their graph, stand twice or come back to their
// node, labels outside, numbers that are not finite. A node without edges is a node like others.
void check(const GraphTable& table);

// A number that differs where anything in the table does.
[[nodiscard]] std::uint64_t fingerprint(const GraphTable& table);

}  // namespace latpred
