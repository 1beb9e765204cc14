#pragma once

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "batch/graph_table.h"
#include "predictors/graph_config.h"

namespace latpred::testing {

// Random directed graphs in execution order, with labels that follow rules: an edge is fusible where an operator 0 or 2
// feeds an operator 1 or 2; the first target is the sum of column 0 over the nodes, the second
// likewise of column 1 and missing in every third graph; the type says whether the graph has an operator 2.
struct RandomGraphs {
  static constexpr std::int64_t kColumns = 2;
  static constexpr std::int64_t kOperators = 4;
  static constexpr std::int64_t kGraphColumns = 1;

  std::vector<double> nodes, columns, targets, bases;
  std::vector<std::int64_t> operators, edges, first_node{0}, fusible, types;
  bool is_of_edges = false;

  RandomGraphs(std::int64_t num_graphs, bool of_edges, std::uint64_t seed) : is_of_edges(of_edges) {
    std::mt19937_64 random(seed);
    std::vector<std::int64_t> sources, ends;
    for (std::int64_t g = 0; g < num_graphs; ++g) {
      const auto size = static_cast<std::int64_t>(random() % 12 + 1);
      const std::int64_t first = first_node.back();
      double sums[kColumns] = {0, 0};
      bool has_two = false;
      for (std::int64_t n = 0; n < size; ++n) {
        operators.push_back(static_cast<std::int64_t>(random() % kOperators));
        has_two = has_two || operators.back() == 2;
        for (double& sum : sums) {
          nodes.push_back(static_cast<double>(random() % 1000 + 1));
          sum += nodes.back();
        }
      }
      const std::size_t before = sources.size();
      for (std::int64_t to = 1; to < size; ++to) {
        if (random() % 8 == 0) continue;  // some nodes stand alone
        const auto from = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(to));
        sources.push_back(first + from);
        ends.push_back(first + to);
      }
      for (std::size_t e = before; e < sources.size(); ++e) {
        const std::int64_t from = operators[static_cast<std::size_t>(sources[e])];
        const std::int64_t to = operators[static_cast<std::size_t>(ends[e])];
        fusible.push_back((from == 0 || from == 2) && (to == 1 || to == 2) ? 1 : 0);
      }
      columns.push_back(static_cast<double>(random() % 10));
      targets.push_back(sums[0] * 1e-6);
      targets.push_back(g % 3 == 2 ? std::numeric_limits<double>::quiet_NaN() : sums[1]);
      bases.push_back(1e-6 * static_cast<double>(size));
      bases.push_back(static_cast<double>(size));
      types.push_back(has_two ? 1 : 0);
      first_node.push_back(first + size);
    }
    edges = sources;
    edges.insert(edges.end(), ends.begin(), ends.end());
  }

  [[nodiscard]] GraphSizes sizes() const {
    GraphSizes result{.node_columns = kColumns, .graph_columns = kGraphColumns, .operators = kOperators};
    if (!is_of_edges) {
      result.targets = 2;
      result.types = 2;
    }
    return result;
  }
  [[nodiscard]] GraphTable unlabelled() const {
    return {.nodes = nodes,
            .operators = operators,
            .edges = edges,
            .first_node = first_node,
            .columns = columns,
            .num_node_columns = kColumns,
            .num_graph_columns = kGraphColumns,
            .num_operators = kOperators,
            .num_targets = sizes().targets,
            .num_types = sizes().types};
  }
  [[nodiscard]] GraphTable table() const {
    GraphTable result = unlabelled();
    if (is_of_edges) {
      result.fusible = fusible;
    } else {
      result.targets = targets;
      result.types = types;
      result.bases = bases;
    }
    return result;
  }
};

}  // namespace latpred::testing
