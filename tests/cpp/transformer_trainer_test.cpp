#include "training/transformer_trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "latpred/error.h"
#include "message_of.h"
#include "tokens.h"
#include "trained.h"

namespace latpred {
using testing::are_equal;
using testing::Chains;
using testing::mean_absolute_log_error;
using testing::message_of;

namespace {

TransformerConfig quick_config(const std::string& name, std::int64_t epochs) {
  TransformerConfig config = transformer_config(name);
  config.width = 32;
  config.heads = 2;
  config.feed_forward_width = 32;
  config.batch_graphs = 40;  // three pieces, the last one short
  config.epochs = epochs;
  return config;
}

TEST(TransformerTrainer, LearnsARooflineAndCarriesItToNewGraphs) {
  const Chains chains(1500, 3, 10, 1);
  TransformerTrainer trainer(quick_config("ours", 12), 7);
  double first = 0;
  double last = 0;
  for (int epoch = 0; epoch < 12; ++epoch) {
    last = trainer.fit_epoch(chains.table());
    if (epoch == 0) first = last;
  }
  EXPECT_LT(last, first / 5);
  const Chains unseen(300, 3, 10, 2);
  const auto mean_log = [&] {
    double sum = 0;
    for (const double seconds : chains.target_s) sum += std::log(seconds);
    return std::exp(sum / static_cast<double>(chains.size()));
  }();
  const double constant =
      mean_absolute_log_error(std::vector<double>(unseen.target_s.size(), mean_log), unseen.target_s);
  EXPECT_LT(mean_absolute_log_error(trainer.predict(unseen.unlabelled()), unseen.target_s), constant / 8);
  EXPECT_NEAR(trainer.loss(chains.table()), last, last);  // the same scale, other weights
}

TEST(TransformerTrainer, ThePapersRecipeLearnsToo) {
  const Chains chains(1000, 3, 10, 1);
  TransformerTrainer trainer(quick_config("paper", 10), 7);
  const double first = trainer.fit_epoch(chains.table());
  for (int epoch = 1; epoch < 10; ++epoch) (void)trainer.fit_epoch(chains.table());
  EXPECT_LT(trainer.loss(chains.table()), first / 2);
}

TEST(TransformerTrainer, EqualSeedsGiveEqualNumbersWithAnyNumberOfThreads) {
  const Chains chains(210, 3, 10, 1);
  const auto trained = [&](std::uint64_t seed, int threads) {
    TransformerTrainer trainer(quick_config("paper", 3), seed, threads);
    for (int epoch = 0; epoch < 3; ++epoch) (void)trainer.fit_epoch(chains.table());
    return trainer.state();
  };
  const NamedArrays one = trained(3, 1);
  EXPECT_TRUE(are_equal(one, trained(3, 1)));
  EXPECT_TRUE(are_equal(one, trained(3, 2)));
  EXPECT_TRUE(are_equal(one, trained(3, 5)));
  EXPECT_FALSE(are_equal(one, trained(4, 1)));
}

TEST(TransformerTrainer, ATrainingTakenUpAgainEqualsOneThatNeverStopped) {
  const Chains chains(210, 3, 10, 1);
  for (const std::string name : {"paper", "ours"}) {
    TransformerTrainer whole(quick_config(name, 4), 11);
    for (int epoch = 0; epoch < 4; ++epoch) (void)whole.fit_epoch(chains.table());
    NamedArrays stored = TransformerTrainer(quick_config(name, 4), 11).state();
    for (int epoch = 0; epoch < 4; ++epoch) {
      TransformerTrainer again(quick_config(name, 4), 11);
      again.load_state(stored);
      EXPECT_EQ(again.epochs_done(), epoch);
      (void)again.fit_epoch(chains.table());
      stored = again.state();
    }
    EXPECT_TRUE(are_equal(stored, whole.state())) << name;
  }
}

TEST(TransformerTrainer, ItsArraysPredictAlike) {
  const Chains chains(100, 3, 16, 1);
  TransformerTrainer trainer(quick_config("ours", 2), 1);
  (void)trainer.fit_epoch(chains.table());
  const TransformerRegressor regressor(trainer.config(), trainer.arrays());
  EXPECT_EQ(regressor.predict(chains.unlabelled()), trainer.predict(chains.unlabelled()));
  EXPECT_EQ(regressor.attention(chains.unlabelled()), trainer.attention(chains.unlabelled()));
  EXPECT_EQ(regressor.num_parameters(), trainer.num_parameters());
  TransformerConfig other = trainer.config();
  other.feed_forward_width = 64;
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { TransformerRegressor(other, trainer.arrays()); }),
            "array 'block_0_feed_forward_in_weight' of the stored network has shape [32, 32], this config needs "
            "[64, 32]");
}

TEST(TransformerTrainer, RefusesWhatDoesNotFit) {
  const Chains deep(5, 11, 16, 1);
  const Chains chains(50, 3, 10, 1);
  TransformerTrainer trainer(quick_config("paper", 2), 1);
  const auto refused = [&](auto action) { return message_of<InvalidArgumentError>(action); };
  EXPECT_NE(refused([&] {
              (void)trainer.fit_epoch(deep.table());
            }).find("config 'paper' knows positions of up to 10 nodes, graph"),
            std::string::npos);
  EXPECT_EQ(refused([&] { (void)trainer.fit_epoch(chains.unlabelled()); }),
            "training needs target_s, the seconds of each graph, got none");
  (void)trainer.fit_epoch(chains.table());
  Chains changed = chains;
  changed.target_s[7] *= 2;
  EXPECT_NE(refused([&] { (void)trainer.fit_epoch(changed.table()); }).find("began with other graphs or targets"),
            std::string::npos);
  (void)trainer.fit_epoch(chains.table());
  EXPECT_EQ(refused([&] { (void)trainer.fit_epoch(chains.table()); }), "all 2 epochs of this config are done");

  TransformerTrainer other_seed(quick_config("paper", 2), 2);
  EXPECT_EQ(refused([&] { other_seed.load_state(trainer.state()); }), "the stored training has seed 1, this trainer 2");
  TransformerTrainer other_config(quick_config("ours", 2), 1);
  EXPECT_NE(refused([&] { other_config.load_state(trainer.state()); }).find("the stored training has dropout 0.1"),
            std::string::npos);
  NamedArrays damaged = trainer.state();
  damaged.erase("second_moment.output_bias");
  TransformerTrainer same(quick_config("paper", 2), 1);
  EXPECT_EQ(refused([&] { same.load_state(damaged); }), "the stored network has no array 'second_moment.output_bias'");
  EXPECT_EQ(refused([&] { TransformerTrainer(quick_config("paper", 2), 1, 0); }),
            "threads must be from 1 to 64, got 0");

  changed = chains;
  changed.lengths[3] = 11;
  EXPECT_EQ(refused([&] { (void)trainer.predict(changed.unlabelled()); }),
            "lengths must be from 1 to 10, got 11 for graph 3");
  changed = chains;
  changed.attributes[3] = 2;
  EXPECT_EQ(refused([&] { (void)trainer.predict(changed.unlabelled()); }),
            "the operation must be 0 (input) or 1 (dense), got 2 at node 1 of graph 0");
  changed = chains;
  changed.attributes[2] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(refused([&] { (void)trainer.predict(changed.unlabelled()); }),
            "the output width must be a finite number >= 1, got nan at node 0 of graph 0");
  changed = chains;
  changed.target_s[1] = 0;
  EXPECT_EQ(refused([&] { (void)trainer.loss(changed.table()); }),
            "target_s must be finite seconds > 0, got 0 for graph 1");
}

}  // namespace
}  // namespace latpred
