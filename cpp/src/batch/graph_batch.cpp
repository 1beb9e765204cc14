#include "batch/graph_batch.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <numeric>

#include "batch/copied_tensor.h"

namespace latpred {
namespace {

using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;

// Rows of a table of `width` columns.
class Rows {
 public:
  Rows(std::int64_t rows, std::int64_t width, at::ScalarType type) : values_(at::empty({rows, width}, type)) {}

  template <typename Value>
  void add(std::span<const double> table, std::int64_t begin, std::int64_t end) {
    const std::int64_t width = values_.size(1);
    auto* const to = values_.mutable_data_ptr<Value>();
    for (const double value :
         table.subspan(static_cast<std::size_t>(begin * width), static_cast<std::size_t>((end - begin) * width))) {
      to[place_++] = static_cast<Value>(value);
    }
  }
  [[nodiscard]] const at::Tensor& values() const { return values_; }

 private:
  at::Tensor values_;
  std::int64_t place_ = 0;
};

// By target, then by source: counted into place, once for each.
Pairs sorted(const Pairs& pairs, std::int64_t num_nodes) {
  const auto pass = [num_nodes](const Pairs& given, std::int64_t Pairs::value_type::* key) {
    std::vector<std::size_t> place(static_cast<std::size_t>(num_nodes) + 1);
    for (const auto& pair : given) ++place[static_cast<std::size_t>(pair.*key) + 1];
    std::partial_sum(place.begin(), place.end(), place.begin());
    Pairs made(given.size());
    for (const auto& pair : given) made[place[static_cast<std::size_t>(pair.*key)]++] = pair;
    return made;
  };
  return pass(pass(pairs, &Pairs::value_type::first), &Pairs::value_type::second);
}

// Pairs that are sorted.
Neighbours to_neighbours(const Pairs& pairs, std::int64_t num_nodes) {
  std::vector<std::int64_t> first(static_cast<std::size_t>(num_nodes) + 1), source, target;
  source.reserve(pairs.size());
  target.reserve(pairs.size());
  for (const auto& [from, to] : pairs) {
    ++first[static_cast<std::size_t>(to) + 1];
    source.push_back(from);
    target.push_back(to);
  }
  for (std::size_t node = 1; node < first.size(); ++node) first[node] += first[node - 1];
  return {copied_tensor(first), copied_tensor(source), copied_tensor(target)};
}

// The sum that a graph is a term of.
std::int64_t sum_of(const GraphTable& table, std::int64_t graph) {
  return std::ranges::upper_bound(table.first_term, graph) - table.first_term.begin() - 1;
}

std::int64_t sums_of(const GraphTable& table, std::span<const std::int64_t> which) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < which.size(); ++i) {
    if (i == 0 || sum_of(table, which[i]) != sum_of(table, which[i - 1])) ++count;
  }
  return count;
}

}  // namespace

Neighbours neighbours_of(Pairs pairs, std::int64_t num_nodes, bool undirected) {
  if (undirected) {
    const std::size_t size = pairs.size();
    for (std::size_t i = 0; i < size; ++i) pairs.emplace_back(pairs[i].second, pairs[i].first);
  }
  pairs = sorted(pairs, num_nodes);
  if (undirected) pairs.erase(std::ranges::unique(pairs).begin(), pairs.end());
  return to_neighbours(pairs, num_nodes);
}

Neighbours with_self_loops(const Neighbours& neighbours) {
  Pairs pairs;
  const auto* source = neighbours.source.const_data_ptr<std::int64_t>();
  const auto* target = neighbours.target.const_data_ptr<std::int64_t>();
  for (std::int64_t e = 0; e < neighbours.source.numel(); ++e) {
    if (source[e] != target[e]) pairs.emplace_back(source[e], target[e]);  // one of its own takes its place
  }
  for (std::int64_t node = 0; node < neighbours.num_nodes(); ++node) pairs.emplace_back(node, node);
  return to_neighbours(sorted(pairs, neighbours.num_nodes()), neighbours.num_nodes());
}

std::vector<std::int64_t> first_edges(const GraphTable& table) {
  std::vector<std::int64_t> first(table.first_node.size());
  std::size_t graph = 0;
  for (std::int64_t e = 0; e < table.num_edges(); ++e) {
    while (table.source(e) >= table.first_node[graph + 1]) first[++graph] = e;
  }
  while (graph + 1 < first.size()) first[++graph] = table.num_edges();
  return first;
}

GraphBatch collate(const GraphTable& table, std::span<const std::int64_t> first_edge,
                   std::span<const std::int64_t> which, bool undirected) {
  const auto num_graphs = static_cast<std::int64_t>(which.size());
  std::int64_t num_nodes = 0;
  for (const std::int64_t one : which) {
    const auto g = static_cast<std::size_t>(one);
    num_nodes += table.first_node[g + 1] - table.first_node[g];
  }
  Rows nodes(num_nodes, table.num_node_columns, at::kFloat);
  Rows columns(num_graphs, table.num_graph_columns, at::kFloat);
  Rows targets(table.targets.empty() ? 0 : num_graphs, table.num_targets, at::kDouble);
  Rows bases(table.bases.empty() ? 0 : num_graphs, table.num_targets, at::kDouble);
  Rows sums(table.num_sums() == 0 ? 0 : sums_of(table, which), table.num_targets, at::kDouble);
  Rows counts(table.num_sums() == 0 ? 0 : num_graphs, 1, at::kDouble);
  std::vector<std::int64_t> operators, graph, first_node{0}, source, target, fusible, types, sum;
  Pairs pairs;
  for (std::int64_t b = 0; b < num_graphs; ++b) {
    const std::int64_t one = which[static_cast<std::size_t>(b)];
    const auto g = static_cast<std::size_t>(one);
    const std::int64_t begin = table.first_node[g];
    const std::int64_t end = table.first_node[g + 1];
    const std::int64_t moved = first_node.back() - begin;
    nodes.add<float>(table.nodes, begin, end);
    columns.add<float>(table.columns, one, one + 1);
    if (!table.targets.empty()) targets.add<double>(table.targets, one, one + 1);
    if (!table.bases.empty()) bases.add<double>(table.bases, one, one + 1);
    if (!table.types.empty()) types.push_back(table.types[g]);
    if (table.num_sums() > 0) {
      const std::int64_t of = sum_of(table, one);
      const bool is_first = b == 0 || of != sum_of(table, which[static_cast<std::size_t>(b - 1)]);
      if (is_first) sums.add<double>(table.sums, of, of + 1);
      sum.push_back(b == 0 ? 0 : sum.back() + (is_first ? 1 : 0));
      counts.add<double>(table.counts, one, one + 1);
    }
    for (std::int64_t node = begin; node < end; ++node) {
      graph.push_back(b);
      if (!table.operators.empty()) operators.push_back(table.operators[static_cast<std::size_t>(node)]);
    }
    for (std::int64_t e = first_edge[g]; e < first_edge[g + 1]; ++e) {
      source.push_back(table.source(e) + moved);
      target.push_back(table.target(e) + moved);
      pairs.emplace_back(source.back(), target.back());
      if (!table.fusible.empty()) fusible.push_back(table.fusible[static_cast<std::size_t>(e)]);
    }
    first_node.push_back(end + moved);
  }

  GraphBatch batch;
  batch.nodes = nodes.values();
  batch.columns = columns.values();
  batch.graph = copied_tensor(graph);
  batch.first_node = copied_tensor(first_node);
  batch.source = copied_tensor(source);
  batch.target = copied_tensor(target);
  batch.neighbours = neighbours_of(std::move(pairs), num_nodes, undirected);
  if (!table.operators.empty()) batch.operators = copied_tensor(operators);
  if (!table.fusible.empty()) batch.fusible = copied_tensor(fusible);
  if (!table.types.empty()) batch.types = copied_tensor(types);
  if (!table.targets.empty()) batch.targets = targets.values();
  if (table.num_sums() > 0) {
    batch.sum = copied_tensor(sum);
    batch.counts = counts.values().squeeze(1);
    batch.sums = sums.values();
  }
  batch.bases = table.bases.empty() ? at::ones({num_graphs, table.num_targets}, at::kDouble) : bases.values();
  return batch;
}

}  // namespace latpred
