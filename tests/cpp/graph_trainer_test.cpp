#include "training/graph_trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "latpred/error.h"
#include "message_of.h"
#include "random_graphs.h"
#include "trained.h"

namespace latpred {
using testing::are_equal;
using testing::message_of;
using testing::RandomGraphs;

namespace {

GraphConfig small(const std::string& name, std::int64_t epochs) {
  GraphConfig config = graph_config(name);
  config.width = 16;
  config.dense_width = 16;
  config.batch_graphs = 16;
  config.epochs = epochs;
  if (config.scale == "milliseconds") config.scale = "standard";  // the graphs have two targets
  return config;
}

void expect_near(const std::vector<double>& found, const std::vector<double>& expected, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], expected[i], 1e-5 * std::abs(expected[i]) + 1e-6) << what << " at " << i;
  }
}

TEST(GraphTrainer, LearnsAFusionRule) {
  const RandomGraphs graphs(400, true, 1);
  const RandomGraphs unseen(200, true, 2);
  GraphConfig config = graph_config("fusion_edges_ours");
  config.width = 32;
  config.learning_rate = 1e-2;
  config.epochs = 20;
  GraphTrainer trainer(config, graphs.sizes(), 3);
  for (std::int64_t epoch = 0; epoch < config.epochs; ++epoch) (void)trainer.fit_epoch(graphs.table());
  const std::vector<double> fusible = trainer.predict(unseen.unlabelled()).fusible;
  ASSERT_EQ(fusible.size(), unseen.fusible.size());
  std::int64_t right = 0;
  for (std::size_t e = 0; e < fusible.size(); ++e) right += (fusible[e] > 0.5) == (unseen.fusible[e] == 1);
  const auto share = [&](std::int64_t count) {
    return static_cast<double>(count) / static_cast<double>(fusible.size());
  };
  EXPECT_GE(share(right), 0.99);
  EXPECT_LT(share(std::ranges::count(unseen.fusible, 0)), 0.8);  // what saying no would reach
}

TEST(GraphTrainer, LearnsTargetsThatSomeGraphsLackAndTypes) {
  const RandomGraphs graphs(400, false, 1);
  const RandomGraphs unseen(100, false, 2);
  GraphConfig config = small("fused_kernels_ours", 25);
  config.readout = "sum";
  config.learning_rate = 1e-2;
  GraphTrainer trainer(config, graphs.sizes(), 3);
  for (std::int64_t epoch = 0; epoch < config.epochs; ++epoch) (void)trainer.fit_epoch(graphs.table());
  const GraphAnswers answers = trainer.predict(unseen.table());
  double error = 0;
  std::int64_t right = 0;
  for (std::size_t g = 0; g < unseen.types.size(); ++g) {
    error += std::abs(std::log(answers.targets[2 * g] / unseen.targets[2 * g]));
    right += (answers.types[2 * g + 1] > 0.5) == (unseen.types[g] == 1);
  }
  EXPECT_LT(error / 100, 0.2);
  EXPECT_GE(right, 90);
}

// Graphs by threes and fours, of which only the sums of their first target are known.
struct Summed {
  RandomGraphs graphs;
  std::vector<double> targets, counts, sums;
  std::vector<std::int64_t> first_term{0};

  Summed(std::int64_t num_graphs, std::uint64_t seed) : graphs(num_graphs, false, seed) {
    targets.assign(graphs.targets.size(), std::numeric_limits<double>::quiet_NaN());
    while (first_term.back() < num_graphs) {
      const std::int64_t begin = first_term.back();
      first_term.push_back(std::min(begin + 3 + begin % 2, num_graphs));
      double sum = 0;
      for (std::int64_t g = begin; g < first_term.back(); ++g) {
        counts.push_back(static_cast<double>(g % 3));  // every third one does not count
        sum += counts.back() * graphs.targets[static_cast<std::size_t>(2 * g)];
      }
      sums.insert(sums.end(), {sum, std::numeric_limits<double>::quiet_NaN()});
    }
  }
  [[nodiscard]] GraphTable table() const {
    GraphTable result = graphs.table();
    result.targets = targets;
    result.first_term = first_term;
    result.counts = counts;
    result.sums = sums;
    return result;
  }
};

TEST(GraphTrainer, LearnsFromSumsAlone) {
  const Summed training(600, 1);
  const RandomGraphs unseen(100, false, 2);
  GraphConfig config = small("fused_kernels_ours", 25);
  config.readout = "sum";
  config.learning_rate = 1e-2;
  const auto error_with = [&](double sum_weight) {
    config.sum_weight = sum_weight;
    GraphTrainer trainer(config, training.graphs.sizes(), 3);
    for (std::int64_t epoch = 0; epoch < config.epochs; ++epoch) (void)trainer.fit_epoch(training.table());
    const GraphAnswers answers = trainer.predict(unseen.table());
    double error = 0;
    for (std::size_t g = 0; g < unseen.types.size(); ++g) {
      error += std::abs(std::log(answers.targets[2 * g] / unseen.targets[2 * g]));
    }
    return error / static_cast<double>(unseen.types.size());
  };
  EXPECT_LT(error_with(1), 0.3);
  EXPECT_GT(error_with(0), 1);
}

TEST(GraphTrainer, RefusesSumsThatAreNone) {
  const auto refused = [](const Summed& training) {
    GraphTrainer trainer(small("fused_kernels_ours", 1), training.graphs.sizes(), 3);
    return message_of<InvalidArgumentError>([&] { (void)trainer.fit_epoch(training.table()); });
  };
  Summed training(10, 1);
  training.first_term[1] = 0;
  EXPECT_EQ(refused(training), "first_term must grow from 0 to the number of graphs, 10, in every step");
  training = Summed(10, 1);
  training.counts[2] = -1;
  EXPECT_EQ(refused(training), "counts must be finite and >= 0, got -1");
  training = Summed(10, 1);
  training.sums[2] = 0;
  EXPECT_EQ(refused(training), "sums must be finite and > 0, or nan where missing, got 0 for sum 1");
  GraphConfig config = graph_config("pmgns");
  config.sum_weight = 1;
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { check(config); }),
            "sum_weight must be >= 0, and 0 unless scale is 'log', got 1 with scale 'standard'");
}

TEST(GraphTrainer, EveryConfigLearnsAndGoesOnAsIfItHadNeverStopped) {
  for (const std::string& name : graph_config_names()) {
    const GraphConfig config = small(name, 3);
    const RandomGraphs graphs(60, config.is_of_edges(), 1);
    GraphTrainer whole(config, graphs.sizes(), 5);
    const double before = whole.loss(graphs.table());
    for (int epoch = 0; epoch < 3; ++epoch) EXPECT_TRUE(std::isfinite(whole.fit_epoch(graphs.table()))) << name;
    EXPECT_NE(whole.loss(graphs.table()), before) << name;
    NamedArrays stored = GraphTrainer(config, graphs.sizes(), 5).state();
    for (int epoch = 0; epoch < 3; ++epoch) {
      GraphTrainer again(config, graphs.sizes(), 5);
      again.load_state(stored);
      EXPECT_EQ(again.epochs_done(), epoch);
      (void)again.fit_epoch(graphs.table());
      stored = again.state();
    }
    EXPECT_TRUE(are_equal(stored, whole.state())) << name;
    EXPECT_FALSE(are_equal(stored, GraphTrainer(config, graphs.sizes(), 6).state())) << name;
    for (const auto& [array, values] : stored) {
      EXPECT_TRUE(std::ranges::all_of(values.values, [](double value) { return std::isfinite(value); })) << array;
    }

    const GraphPredictor predictor(config, graphs.sizes(), whole.arrays());
    EXPECT_EQ(predictor.predict(graphs.unlabelled()).fusible, whole.predict(graphs.unlabelled()).fusible);
    EXPECT_EQ(predictor.predict(graphs.unlabelled()).targets, whole.predict(graphs.unlabelled()).targets);
    EXPECT_EQ(predictor.num_parameters(), whole.num_parameters());
  }
}

TEST(GraphTrainer, GraphsTogetherAnswerAsOneByOne) {
  for (const std::string& name : graph_config_names()) {
    const GraphConfig config = small(name, 1);
    const RandomGraphs graphs(40, config.is_of_edges(), 1);
    GraphTrainer trainer(config, graphs.sizes(), 5);
    (void)trainer.fit_epoch(graphs.table());
    const GraphTable all = graphs.unlabelled();
    const GraphAnswers together = trainer.predict(all);
    GraphAnswers apart;
    std::size_t edge = 0;
    for (std::size_t g = 0; g + 1 < graphs.first_node.size(); ++g) {
      const auto first = static_cast<std::size_t>(graphs.first_node[g]);
      const auto size = static_cast<std::size_t>(graphs.first_node[g + 1]) - first;
      const std::vector<std::int64_t> ends{0, static_cast<std::int64_t>(size)};
      std::vector<std::int64_t> sources, targets;
      const auto all_edges = static_cast<std::size_t>(all.num_edges());
      for (; edge < all_edges && static_cast<std::size_t>(graphs.edges[edge]) < first + size; ++edge) {
        sources.push_back(graphs.edges[edge] - static_cast<std::int64_t>(first));
        targets.push_back(graphs.edges[all_edges + edge] - static_cast<std::int64_t>(first));
      }
      sources.insert(sources.end(), targets.begin(), targets.end());
      GraphTable one = all;
      one.nodes = all.nodes.subspan(first * RandomGraphs::kColumns, size * RandomGraphs::kColumns);
      one.operators = all.operators.subspan(first, size);
      one.columns = all.columns.subspan(g, 1);
      one.first_node = ends;
      one.edges = sources;
      const GraphAnswers answers = trainer.predict(one);
      apart.fusible.insert(apart.fusible.end(), answers.fusible.begin(), answers.fusible.end());
      apart.targets.insert(apart.targets.end(), answers.targets.begin(), answers.targets.end());
      apart.types.insert(apart.types.end(), answers.types.begin(), answers.types.end());
    }
    expect_near(together.fusible, apart.fusible, name + ", fusible");
    expect_near(together.targets, apart.targets, name + ", targets");
    expect_near(together.types, apart.types, name + ", types");
  }
}

// One graph, its nodes from last to first.
TEST(GraphTrainer, TheOrderOfNodesDoesNotMatter) {
  for (const std::string& name : graph_config_names()) {
    const GraphConfig config = small(name, 1);
    const RandomGraphs graphs(40, config.is_of_edges(), 1);
    GraphTrainer trainer(config, graphs.sizes(), 5);
    (void)trainer.fit_epoch(graphs.table());
    RandomGraphs turned = graphs;
    const auto new_place = [&](std::int64_t node) {
      const auto end = std::ranges::upper_bound(graphs.first_node, node);
      return *(end - 1) + *end - 1 - node;
    };
    for (std::int64_t node = 0; node < graphs.first_node.back(); ++node) {
      const auto from = static_cast<std::size_t>(node);
      const auto to = static_cast<std::size_t>(new_place(node));
      turned.operators[to] = graphs.operators[from];
      for (std::size_t column = 0; column < RandomGraphs::kColumns; ++column) {
        turned.nodes[to * RandomGraphs::kColumns + column] = graphs.nodes[from * RandomGraphs::kColumns + column];
      }
    }
    for (std::int64_t& end : turned.edges) end = new_place(end);
    const GraphAnswers before = trainer.predict(graphs.unlabelled());
    const GraphAnswers after = trainer.predict(turned.unlabelled());
    expect_near(after.fusible, before.fusible, name + ", fusible");
    expect_near(after.targets, before.targets, name + ", targets");
    expect_near(after.types, before.types, name + ", types");
  }
}

TEST(GraphTrainer, AttentionOfEachNodeSumsToOne) {
  const RandomGraphs graphs(10, true, 1);
  GraphConfig config = small("fusion_edges", 1);
  config.layers = 2;
  config.undirected = true;
  const GraphTrainer trainer(config, graphs.sizes(), 5);
  const GraphAttention found = trainer.attention(graphs.unlabelled());
  ASSERT_EQ(found.shares.size(), 2U);
  const std::size_t num_edges = found.edges.size() / 2;
  ASSERT_EQ(num_edges, graphs.edges.size() + static_cast<std::size_t>(graphs.first_node.back()));  // both ways, and own
  for (const auto& layer : found.shares) {
    std::vector<double> sums(static_cast<std::size_t>(graphs.first_node.back()));
    for (std::size_t e = 0; e < num_edges; ++e) sums[static_cast<std::size_t>(found.edges[num_edges + e])] += layer[e];
    for (const double sum : sums) EXPECT_NEAR(sum, 1, 1e-5);
  }
  const RandomGraphs whole(10, false, 1);
  EXPECT_TRUE(GraphTrainer(small("pmgns", 1), whole.sizes(), 5).attention(whole.unlabelled()).shares.empty());
}

TEST(GraphTrainer, FindsALearningRateWithoutLearning) {
  const RandomGraphs graphs(100, false, 1);
  const GraphTrainer trainer(small("pmgns", 1), graphs.sizes(), 5);
  const NamedArrays before = trainer.state();
  const LearningRates found = trainer.find_learning_rate(graphs.table(), 1e-6, 1, 60);
  EXPECT_TRUE(are_equal(trainer.state(), before));
  ASSERT_EQ(found.rates.size(), found.losses.size());
  EXPECT_TRUE(std::ranges::is_sorted(found.rates));
  EXPECT_GT(found.steepest, 1e-5);
  EXPECT_LT(found.steepest, 0.5);
}

TEST(GraphTrainer, RefusesWhatDoesNotFit) {
  const auto refused = [](auto action) { return message_of<InvalidArgumentError>(action); };
  RandomGraphs graphs(20, true, 1);
  GraphTrainer trainer(small("fusion_edges", 1), graphs.sizes(), 1);
  const auto predict = [&] { (void)trainer.predict(graphs.unlabelled()); };
  EXPECT_EQ(refused([&] { (void)trainer.fit_epoch(graphs.unlabelled()); }),
            "task 'edges' learns from fusible, the graphs have none");
  (void)trainer.fit_epoch(graphs.table());
  EXPECT_EQ(refused([&] { (void)trainer.fit_epoch(graphs.table()); }), "all 1 epochs of this config are done");
  GraphTrainer other(small("fusion_edges", 1), graphs.sizes(), 2);
  EXPECT_EQ(refused([&] { other.load_state(trainer.state()); }), "the stored training has seed 1, this trainer 2");
  GraphConfig config = small("fusion_edges", 1);
  config.input_scale = "log";
  GraphTrainer ours(config, graphs.sizes(), 1);
  EXPECT_NE(
      refused([&] { ours.load_state(trainer.state()); }).find("the stored training has input_scale 0, this one 1"),
      std::string::npos);
  EXPECT_EQ(refused([&] { (void)trainer.predict(RandomGraphs(3, false, 1).table()); }),
            "this network was made for 0 targets, the graphs have 2");

  const RandomGraphs good = graphs;
  const auto num_edges = static_cast<std::size_t>(graphs.table().num_edges());
  graphs.edges[num_edges - 1] = graphs.first_node.back();
  EXPECT_NE(refused(predict).find("edges must be from 0 to "), std::string::npos);
  graphs = good;
  graphs.edges[num_edges] = graphs.first_node.back() - 1;
  EXPECT_NE(refused(predict).find("edge 0 leaves its graph: from node "), std::string::npos);
  graphs = good;
  graphs.edges[num_edges] = graphs.edges[0];
  EXPECT_NE(refused(predict).find("edge 0 goes from node "), std::string::npos);
  graphs = good;
  std::swap(graphs.edges[0], graphs.edges[num_edges - 1]);
  std::swap(graphs.edges[num_edges], graphs.edges[2 * num_edges - 1]);
  EXPECT_NE(refused(predict).find("edges must stand in the order of their graphs"), std::string::npos);
  graphs = good;
  graphs.first_node[1] = 0;
  EXPECT_NE(refused(predict).find("graph 0 has no nodes"), std::string::npos);
  graphs = good;
  graphs.nodes[5] = std::numeric_limits<double>::infinity();
  EXPECT_EQ(refused(predict), "nodes must be finite 32-bit numbers, got inf in row 2, column 1");
  graphs = good;
  graphs.operators[3] = 4;
  EXPECT_EQ(refused(predict), "operators must be from 0 to 3, got 4 at 3");
  graphs = good;
  graphs.edges = {0, 0, 1, 1};
  graphs.first_node = {0, graphs.first_node.back()};
  graphs.columns = {1};
  EXPECT_EQ(refused(predict), "the edge from node 0 to 1 stands twice; give each pair once");

  RandomGraphs whole(20, false, 1);
  GraphTrainer regressor(small("pmgns", 1), whole.sizes(), 1);
  whole.targets[4] = 0;
  EXPECT_EQ(refused([&] { (void)regressor.fit_epoch(whole.table()); }),
            "targets must be finite and > 0, or nan where missing, got 0 for graph 2");
  GraphConfig odd = graph_config("fusion_edges");
  odd.heads = 3;
  EXPECT_EQ(refused([&] { GraphTrainer(odd, good.sizes(), 1); }), "width must be a multiple of heads, got 128 / 3");
  odd = graph_config("pmgns");
  odd.readout = "most";
  EXPECT_EQ(refused([&] { GraphTrainer(odd, whole.sizes(), 1); }), "unknown readout 'most'; valid: sum, mean, max");
}

}  // namespace
}  // namespace latpred
