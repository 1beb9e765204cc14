#include "latpred/subgraphs.h"

#include <algorithm>
#include <numeric>

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred {
namespace {

using Edges = std::vector<std::pair<NodeId, NodeId>>;

class UnionFind {
 public:
  explicit UnionFind(std::size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), NodeId{0}); }

  NodeId root(NodeId node) {
    while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
    return node;
  }
  // Roots are joined, not nodes: joining nodes would tear a node off its group where a diamond closes.
  void join(NodeId left, NodeId right) {
    const auto [first, second] = std::minmax({root(left), root(right)});
    parent_[second] = first;
  }
  void isolate(NodeId node) { parent_[node] = node; }

 private:
  std::vector<NodeId> parent_;
};

// The graph whose nodes are groups, each under the number of its root.
class GroupGraph {
 public:
  GroupGraph(std::size_t num_nodes, const Edges& edges) : edges_(edges), next_(num_nodes) {}

  void rebuild(UnionFind& groups) {
    for (auto& next : next_) next.clear();
    for (const auto& [from, to] : edges_) {
      const NodeId source = groups.root(from);
      const NodeId target = groups.root(to);
      if (source != target) next_[source].push_back(target);
    }
  }

  // Whether a path of two steps or more leads from one group to another: joined, they would wait for what is between.
  [[nodiscard]] bool has_detour(NodeId from, NodeId to) const {
    std::vector<bool> is_seen(next_.size());
    std::vector<NodeId> waiting;
    for (const NodeId group : next_[from]) {
      if (group != to) waiting.push_back(group);
    }
    while (!waiting.empty()) {
      const NodeId group = waiting.back();
      waiting.pop_back();
      if (group == to) return true;
      if (is_seen[group]) continue;
      is_seen[group] = true;
      waiting.insert(waiting.end(), next_[group].begin(), next_[group].end());
    }
    return false;
  }

  // Which groups wait for themselves. Only what is left after all that waits for nothing, from either end, can.
  [[nodiscard]] std::vector<bool> on_cycles() const {
    std::vector<bool> is_left(next_.size(), true);
    std::vector<std::vector<NodeId>> before(next_.size());
    for (std::size_t group = 0; group < next_.size(); ++group) {
      for (const NodeId after : next_[group]) before[after].push_back(static_cast<NodeId>(group));
    }
    strip(next_, before, is_left);
    strip(before, next_, is_left);
    for (std::size_t group = 0; group < next_.size(); ++group) {
      const auto own = static_cast<NodeId>(group);
      is_left[group] = is_left[group] && has_detour(own, own);
    }
    return is_left;
  }

 private:
  static void strip(const std::vector<std::vector<NodeId>>& next, const std::vector<std::vector<NodeId>>& before,
                    std::vector<bool>& is_left) {
    std::vector<std::int64_t> waits_for(next.size());
    std::vector<NodeId> ready;
    for (std::size_t group = 0; group < next.size(); ++group) {
      if (!is_left[group]) continue;
      waits_for[group] = std::ranges::count_if(before[group], [&](NodeId one) { return is_left[one]; });
      if (waits_for[group] == 0) ready.push_back(static_cast<NodeId>(group));
    }
    while (!ready.empty()) {
      const NodeId group = ready.back();
      ready.pop_back();
      is_left[group] = false;
      for (const NodeId after : next[group]) {
        if (is_left[after] && --waits_for[after] == 0) ready.push_back(after);
      }
    }
  }

  const Edges& edges_;
  std::vector<std::vector<NodeId>> next_;  // of each root; an edge for each between nodes
};

void check(std::int64_t num_nodes, const Edges& edges, const std::vector<bool>& fusible) {
  if (fusible.size() != edges.size()) {
    throw InvalidArgumentError(
        concat("fusible must hold a value for each of the ", edges.size(), " edges, got ", fusible.size()));
  }
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const auto [from, to] = edges[e];
    if (from >= 0 && from < to && to < num_nodes) continue;
    throw InvalidArgumentError(concat("edge ", e, " goes from node ", from, " to ", to, "; edges must go from a lower ",
                                      "to a higher number below ", num_nodes, ": nodes in execution order"));
  }
}

// Joins torn nodes again where that leaves an order; an edge that had to wait may be joined once others are.
void join_in_order(const Edges& edges, const std::vector<bool>& fusible, const std::vector<bool>& is_torn,
                   UnionFind& groups, GroupGraph& graph) {
  graph.rebuild(groups);
  std::vector<std::size_t> order(edges.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t e) { return std::pair(edges[e].second, edges[e].first); });
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (const std::size_t e : order) {
      const auto [from, to] = edges[e];
      if (!fusible[e] || !is_torn[from] || groups.root(from) == groups.root(to)) continue;
      if (graph.has_detour(groups.root(from), groups.root(to))) continue;
      groups.join(from, to);
      graph.rebuild(groups);
      has_changed = true;
    }
  }
}

}  // namespace

Subgraphs extract_subgraphs(std::int64_t num_nodes, const Edges& edges, const std::vector<bool>& fusible) {
  check(num_nodes, edges, fusible);
  const auto size = static_cast<std::size_t>(num_nodes);
  UnionFind groups(size);
  for (std::size_t e = 0; e < edges.size(); ++e) {
    if (fusible[e]) groups.join(edges[e].first, edges[e].second);
  }
  GroupGraph graph(size, edges);
  graph.rebuild(groups);

  Subgraphs result;
  const std::vector<bool> is_torn_group = graph.on_cycles();
  std::vector<NodeId> whole(size);  // the root of each node before anything is torn
  std::vector<bool> is_torn(size);
  for (NodeId node = 0; node < num_nodes; ++node) {
    whole[node] = groups.root(node);
    is_torn[node] = is_torn_group[whole[node]];
  }
  if (std::ranges::find(is_torn, true) != is_torn.end()) {
    for (NodeId node = 0; node < num_nodes; ++node) {
      if (is_torn[node]) groups.isolate(node);
    }
    join_in_order(edges, fusible, is_torn, groups, graph);
  }

  std::vector<std::int64_t> number(size, -1);
  std::vector<bool> is_counted(size);
  for (NodeId node = 0; node < num_nodes; ++node) {
    std::int64_t& found = number[groups.root(node)];
    if (found < 0) found = result.num_groups++;
    result.group.push_back(found);
    if (result.group[node] == result.group[whole[node]] || is_counted[whole[node]]) continue;
    is_counted[whole[node]] = true;
    ++result.num_split;
  }
  return result;
}

}  // namespace latpred
