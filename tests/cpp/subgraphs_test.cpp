#include "latpred/subgraphs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "message_of.h"

namespace latpred {
namespace {

using Edges = std::vector<std::pair<NodeId, NodeId>>;
using Groups = std::vector<std::int64_t>;

Groups groups_of(std::int64_t num_nodes, const Edges& edges, const std::vector<bool>& fusible) {
  return extract_subgraphs(num_nodes, edges, fusible).group;
}

TEST(Subgraphs, FusibleEdgesJoin) {
  EXPECT_EQ(groups_of(4, {{0, 1}, {1, 2}, {2, 3}}, {true, false, true}), (Groups{0, 0, 1, 1}));
  EXPECT_EQ(groups_of(3, {}, {}), (Groups{0, 1, 2}));
  EXPECT_EQ(groups_of(0, {}, {}), Groups{});
}

TEST(Subgraphs, ADiamondStaysWhole) {
  // With nodes joined instead of roots, the last edge would tear node 3 off what node 1 brought it to.
  const Edges diamond{{0, 1}, {0, 2}, {1, 3}, {2, 3}};
  EXPECT_EQ(groups_of(4, diamond, {true, true, true, true}), (Groups{0, 0, 0, 0}));
  EXPECT_EQ(groups_of(6, {{0, 1}, {2, 3}, {1, 4}, {3, 4}, {4, 5}}, std::vector<bool>(5, true)),
            (Groups{0, 0, 0, 0, 0, 0}));
}

TEST(Subgraphs, APathOutAndBackSplitsAGroup) {
  // 0 -> 1 -> 2 is fusible along 0 -> 2 only: 1 would need half of a kernel.
  const Subgraphs split = extract_subgraphs(3, {{0, 1}, {0, 2}, {1, 2}}, {false, true, false});
  EXPECT_EQ(split.group, (Groups{0, 1, 2}));
  EXPECT_EQ(split.num_split, 1);
  // A residual block: the sum would fuse with what the branch began at, while the branch's own kernel stands between.
  const Subgraphs residual = extract_subgraphs(4, {{0, 1}, {1, 2}, {2, 3}, {0, 3}}, {true, false, false, true});
  EXPECT_EQ(residual.group, (Groups{0, 0, 1, 2}));
  EXPECT_EQ(residual.num_split, 1);
}

TEST(Subgraphs, GroupsThatWaitForOneAnotherAreSplit) {
  // {0, 3, 4} and {1, 2, 5}: no path leaves one and comes back, but 0 -> 2 and 1 -> 3 make each wait for the other.
  const Subgraphs found =
      extract_subgraphs(6, {{0, 4}, {3, 4}, {2, 5}, {1, 5}, {0, 2}, {1, 3}}, {true, true, true, true, false, false});
  EXPECT_EQ(found.group, (Groups{0, 1, 2, 0, 0, 2}));
  EXPECT_EQ(found.num_split, 1);
}

TEST(Subgraphs, RefusesWhatIsNoOrder) {
  const auto refused = [](auto action) { return testing::message_of<InvalidArgumentError>(action); };
  EXPECT_EQ(refused([] { (void)extract_subgraphs(3, {{0, 1}, {2, 1}}, {true, true}); }),
            "edge 1 goes from node 2 to 1; edges must go from a lower to a higher number below 3: nodes in execution "
            "order");
  EXPECT_EQ(refused([] { (void)extract_subgraphs(3, {{0, 3}}, {true}); }),
            "edge 0 goes from node 0 to 3; edges must go from a lower to a higher number below 3: nodes in execution "
            "order");
  EXPECT_EQ(refused([] { (void)extract_subgraphs(3, {{0, 1}}, {}); }),
            "fusible must hold a value for each of the 1 edges, got 0");
}

// Whether groups can be run one after another.
bool have_an_order(const Edges& edges, const Groups& group, std::int64_t num_groups) {
  std::map<std::int64_t, std::set<std::int64_t>> before;
  for (const auto& [from, to] : edges) {
    if (group[from] != group[to]) before[group[to]].insert(group[from]);
  }
  std::set<std::int64_t> done;
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (std::int64_t g = 0; g < num_groups; ++g) {
      if (done.contains(g) || !std::ranges::includes(done, before[g])) continue;
      done.insert(g);
      has_changed = true;
    }
  }
  return static_cast<std::int64_t>(done.size()) == num_groups;
}

// Components of the fusible edges between nodes of one group; `group` of all 0: of all fusible edges.
std::int64_t num_components(std::int64_t num_nodes, const Edges& edges, const std::vector<bool>& fusible,
                            const Groups& group) {
  Groups component(static_cast<std::size_t>(num_nodes));
  for (std::size_t n = 0; n < component.size(); ++n) component[n] = static_cast<std::int64_t>(n);
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (std::size_t e = 0; e < edges.size(); ++e) {
      const auto [from, to] = edges[e];
      if (!fusible[e] || group[from] != group[to] || component[from] == component[to]) continue;
      component[from] = component[to] = std::min(component[from], component[to]);
      has_changed = true;
    }
  }
  const std::set<std::int64_t> distinct(component.begin(), component.end());
  return static_cast<std::int64_t>(distinct.size());
}

TEST(Subgraphs, RandomGraphsKeepTheRules) {
  std::mt19937 random(5);
  std::int64_t split = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const int num_nodes = std::uniform_int_distribution(1, 14)(random);
    Edges edges;
    std::vector<bool> fusible;
    for (NodeId from = 0; from < num_nodes; ++from) {
      for (NodeId to = from + 1; to < num_nodes; ++to) {
        if (random() % 4 != 0) continue;
        edges.emplace_back(from, to);
        fusible.push_back(random() % 3 != 0);
      }
    }
    const Subgraphs found = extract_subgraphs(num_nodes, edges, fusible);
    split += found.num_split;
    ASSERT_TRUE(have_an_order(edges, found.group, found.num_groups)) << "trial " << trial;
    // Each group is connected by fusible edges inside it.
    ASSERT_EQ(num_components(num_nodes, edges, fusible, found.group), found.num_groups) << "trial " << trial;
    const Groups whole(static_cast<std::size_t>(num_nodes), 0);
    const std::int64_t connected = num_components(num_nodes, edges, fusible, whole);
    ASSERT_EQ(found.num_split == 0, found.num_groups == connected) << "trial " << trial;
    // No fusible edge is left out without need.
    for (std::size_t e = 0; e < edges.size(); ++e) {
      const std::int64_t left = found.group[edges[e].first];
      const std::int64_t right = found.group[edges[e].second];
      if (!fusible[e] || left == right) continue;
      Groups joined = found.group;
      for (std::int64_t& group : joined) group = group == right ? left : group;
      std::set<std::int64_t> ids(joined.begin(), joined.end());
      for (std::int64_t& group : joined) group = std::distance(ids.begin(), ids.find(group));
      ASSERT_FALSE(have_an_order(edges, joined, found.num_groups - 1)) << "trial " << trial << ", edge " << e;
    }
  }
  EXPECT_GT(split, 30);  // the trials reach what they are for
}

}  // namespace
}  // namespace latpred
