#include "batch/graph_table.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <vector>

#include "batch/fingerprint.h"
#include "batch/table_checks.h"
#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred {
namespace {

void check_labels(std::string_view what, std::span<const std::int64_t> labels, std::int64_t least, std::int64_t end) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] >= least && labels[i] < end) continue;
    throw InvalidArgumentError(concat(what, " must be from ", least, " to ", end - 1, ", got ", labels[i], " at ", i));
  }
}

void check_finite(std::string_view what, std::span<const double> values, std::int64_t columns) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (is_finite_as_float(values[i])) continue;
    const auto width = static_cast<std::size_t>(columns);
    throw InvalidArgumentError(
        concat(what, " must be finite 32-bit numbers, got ", values[i], " in row ", i / width, ", column ", i % width));
  }
}

void check_edges(const GraphTable& table) {
  std::int64_t graph = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> of_graph;
  const auto check_distinct = [&] {
    std::ranges::sort(of_graph);
    const auto twice = std::ranges::adjacent_find(of_graph);
    if (twice == of_graph.end()) return;
    throw InvalidArgumentError(
        concat("the edge from node ", twice->first, " to ", twice->second, " stands twice; give each pair once"));
  };
  for (std::int64_t e = 0; e < table.num_edges(); ++e) {
    const std::int64_t from = table.source(e);
    const std::int64_t to = table.target(e);
    if (from < 0 || from >= table.num_nodes()) {
      throw InvalidArgumentError(
          concat("edges must be from 0 to ", table.num_nodes() - 1, ", got ", from, " at edge ", e));
    }
    while (from >= table.first_node[static_cast<std::size_t>(graph + 1)]) {
      check_distinct();
      of_graph.clear();
      ++graph;
    }
    const auto g = static_cast<std::size_t>(graph);
    if (from < table.first_node[g]) {
      throw InvalidArgumentError(concat("edges must stand in the order of their graphs, got edge ", e,
                                        " of an earlier graph after one of graph ", graph));
    }
    if (to < table.first_node[g] || to >= table.first_node[g + 1]) {
      throw InvalidArgumentError(
          concat("edge ", e, " leaves its graph: from node ", from, " of graph ", graph, " to node ", to));
    }
    if (from == to) throw InvalidArgumentError(concat("edge ", e, " goes from node ", from, " back to it"));
    of_graph.emplace_back(from, to);
  }
  check_distinct();
}

void check_known(std::string_view what, std::string_view of, std::span<const double> values, std::int64_t columns) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i];
    if (std::isnan(value) || (is_finite_as_float(value) && value > 0)) continue;
    throw InvalidArgumentError(concat(what, " must be finite and > 0, or nan where missing, got ", value, " for ", of,
                                      " ", i / static_cast<std::size_t>(columns)));
  }
}

void check_sums(const GraphTable& table) {
  if (table.first_term.empty()) {
    check_size("counts", table.counts.size(), 0);
    check_size("sums", table.sums.size(), 0);
    return;
  }
  if (table.first_term.front() != 0 || table.first_term.back() != table.num_graphs() ||
      std::ranges::adjacent_find(table.first_term, std::greater_equal<>()) != table.first_term.end()) {
    throw InvalidArgumentError(
        concat("first_term must grow from 0 to the number of graphs, ", table.num_graphs(), ", in every step"));
  }
  check_size("counts", table.counts.size(), table.num_graphs());
  for (const double count : table.counts) {
    if (!is_finite_as_float(count) || count < 0)
      throw InvalidArgumentError(concat("counts must be finite and >= 0, got ", count));
  }
  check_size("sums", table.sums.size(), table.num_sums() * table.num_targets);
  check_known("sums", "sum", table.sums, table.num_targets);
}

void check_targets(const GraphTable& table) {
  const std::int64_t size = table.num_graphs() * table.num_targets;
  if (!table.targets.empty()) check_size("targets", table.targets.size(), size);
  check_known("targets", "graph", table.targets, table.num_targets);
  if (!table.bases.empty()) check_size("bases", table.bases.size(), size);
  for (const double base : table.bases) {
    if (!is_finite_as_float(base) || base <= 0)
      throw InvalidArgumentError(concat("bases must be finite and > 0, got ", base));
  }
}

}  // namespace

void check(const GraphTable& table) {
  if (table.num_graphs() < 1 || table.first_node.front() != 0) {
    throw InvalidArgumentError("first_node must hold 0 and the end of each graph; at least one graph");
  }
  for (std::size_t g = 0; g + 1 < table.first_node.size(); ++g) {
    if (table.first_node[g + 1] > table.first_node[g]) continue;
    throw InvalidArgumentError(concat("graph ", g, " has no nodes: first_node goes from ", table.first_node[g], " to ",
                                      table.first_node[g + 1]));
  }
  check_size("nodes", table.nodes.size(), table.num_nodes() * table.num_node_columns);
  check_finite("nodes", table.nodes, table.num_node_columns);
  check_size("operators", table.operators.size(), table.num_operators > 0 ? table.num_nodes() : 0);
  check_labels("operators", table.operators, 0, table.num_operators);
  check_size("columns", table.columns.size(), table.num_graphs() * table.num_graph_columns);
  check_finite("columns", table.columns, table.num_graph_columns);
  if (table.edges.size() % 2 != 0) throw InvalidArgumentError("edges must be an array [2, edges]");
  check_edges(table);
  if (!table.fusible.empty()) check_size("fusible", table.fusible.size(), table.num_edges());
  check_labels("fusible", table.fusible, kNoLabel, 2);
  if (!table.types.empty()) check_size("types", table.types.size(), table.num_graphs());
  check_labels("types", table.types, kNoLabel, table.num_types);
  check_targets(table);
  check_sums(table);
}

std::uint64_t fingerprint(const GraphTable& table) {
  Fingerprint print;
  for (const auto& numbers : {table.nodes, table.columns, table.targets, table.bases, table.counts, table.sums})
    print.add(numbers);
  for (const auto& numbers :
       {table.operators, table.edges, table.first_node, table.fusible, table.types, table.first_term}) {
    print.add(numbers);
  }
  return print.value();
}

}  // namespace latpred
