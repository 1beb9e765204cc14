#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "latpred/graph.h"

namespace latpred {

// A named number of a node or of a whole graph. Append only: weights have learnt column positions.
struct GraphColumn {
  std::string name;
  std::string unit;
  std::string description;
};

// What graph neural networks read of a graph, by the recipe of one paper.
struct NodeFeatureSet {
  std::string_view name;
  std::string_view description;
  std::vector<GraphColumn> node_columns;   // F
  std::vector<GraphColumn> graph_columns;  // S
};
// Rows of the table in node_features.cpp.
// "dippm": 16 operators one-hot, 12 attributes of convolutions, 4 numbers of the output's shape; five static features.
// "lilou": elements in and out, parameters and FLOPs of each node, beside its operator.

// A graph as plain arrays: N nodes, E edges.
struct NodeFeatures {
  const NodeFeatureSet* set = nullptr;
  std::vector<double> nodes;            // [N, F], row-major
  std::vector<std::int64_t> operators;  // [N] ids of operators()
  std::vector<std::int64_t> edges;      // [2, E] producers, then consumers: the data flow, each pair once
  std::vector<double> graph;            // [S]
};
[[nodiscard]] NodeFeatures node_features(const Graph& graph, std::string_view set);

}  // namespace latpred
