#include "training/dense_trainer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "latpred/error.h"
#include "message_of.h"
#include "plain_nets.h"
#include "trained.h"

namespace latpred {
using testing::are_equal;
using testing::mean_absolute_log_error;
using testing::message_of;
using testing::PlainNets;

namespace {

constexpr std::int64_t kMostNodes = 6;

DenseConfig quick_config(const std::string& name, std::int64_t epochs) {
  DenseConfig config = dense_config(name);
  config.hidden_layers = 2;
  config.width = 40;
  config.batch_nets = 50;
  config.epochs = epochs;
  return config;
}

TEST(DenseTrainer, SumsOfLayersFindWhatTheLawIsOffByAndCarryItToNewNets) {
  const PlainNets nets(1500, kMostNodes, 1);
  const PlainNets unseen(200, kMostNodes, 2);
  DenseTrainer trainer(quick_config("ours", 60), 7);
  for (int epoch = 0; epoch < 60; ++epoch) (void)trainer.fit_epoch(nets.table());
  std::vector<double> law;
  for (std::int64_t g = 0; g < unseen.size(); ++g) {
    law.push_back(0);
    for (std::int64_t i = 0; i < kMostNodes; ++i) {
      law.back() += unseen.base_s[static_cast<std::size_t>(g * kMostNodes + i)];
    }
  }
  const double off = mean_absolute_log_error(law, unseen.target_s);
  EXPECT_GT(off, 0.2);
  EXPECT_LT(mean_absolute_log_error(trainer.predict(unseen.table()), unseen.target_s), off / 8);
}

TEST(DenseTrainer, ThePapersRecipeLearnsToo) {
  const PlainNets nets(400, kMostNodes, 1);
  DenseTrainer trainer(quick_config("paper", 30), 7);
  const double first = trainer.fit_epoch(nets.table());
  double last = first;
  for (int epoch = 1; epoch < 30; ++epoch) last = trainer.fit_epoch(nets.table());
  EXPECT_LT(last, first / 3);
}

class Recipes : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, Recipes, ::testing::Values("paper", "ours"));

TEST_P(Recipes, ATrainingTakenUpAgainEqualsOneThatWasNot) {
  const PlainNets nets(120, kMostNodes, 1);
  DenseTrainer whole(quick_config(GetParam(), 4), 3);
  for (int epoch = 0; epoch < 4; ++epoch) (void)whole.fit_epoch(nets.table());
  DenseTrainer first(quick_config(GetParam(), 4), 3);
  for (int epoch = 0; epoch < 2; ++epoch) (void)first.fit_epoch(nets.table());
  DenseTrainer second(quick_config(GetParam(), 4), 3);
  second.load_state(first.state());
  EXPECT_EQ(second.epochs_done(), 2);
  for (int epoch = 0; epoch < 2; ++epoch) (void)second.fit_epoch(nets.table());
  EXPECT_TRUE(are_equal(whole.state(), second.state()));

  DenseTrainer other(quick_config(GetParam(), 4), 4);
  for (int epoch = 0; epoch < 4; ++epoch) (void)other.fit_epoch(nets.table());
  EXPECT_FALSE(are_equal(whole.arrays(), other.arrays()));
}

TEST_P(Recipes, ARegressorAnswersAsItsTrainer) {
  const PlainNets nets(150, kMostNodes, 1);
  DenseTrainer trainer(quick_config(GetParam(), 2), 3);
  (void)trainer.fit_epoch(nets.table());
  const DenseRegressor regressor(quick_config(GetParam(), 2), trainer.arrays());
  EXPECT_EQ(regressor.predict(nets.table()), trainer.predict(nets.table()));
  EXPECT_EQ(regressor.num_parameters(), trainer.num_parameters());
  // One net alone is answered for as among others.
  const PlainNets one(1, kMostNodes, 1);
  EXPECT_NEAR(regressor.predict(one.table())[0] / trainer.predict(nets.table())[0], 1, 1e-5);
}

TEST(DenseTrainer, WhatDoesNotFitIsRefused) {
  const PlainNets nets(60, kMostNodes, 1);
  DenseTrainer trainer(quick_config("paper", 1), 3);
  (void)trainer.fit_epoch(nets.table());
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { (void)trainer.fit_epoch(nets.table()); }),
            "all 1 epochs of this config are done");
  DenseTrainer longer(quick_config("paper", 2), 3);
  EXPECT_NE(message_of<InvalidArgumentError>([&] { longer.load_state(trainer.state()); }).find("has epochs 1"),
            std::string::npos);
  (void)longer.fit_epoch(nets.table());
  EXPECT_NE(message_of<InvalidArgumentError>([&] {
              (void)longer.fit_epoch(PlainNets(60, kMostNodes, 2).table());
            }).find("began with other nets"),
            std::string::npos);
  NamedArrays broken = trainer.arrays();
  broken.erase("output_bias");
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { DenseRegressor(quick_config("paper", 1), broken); }),
            "the stored network has no array 'output_bias'");
  DenseConfig config = quick_config("paper", 1);
  config.hidden_layers = 0;
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { DenseTrainer(config, 0); }),
            "hidden_layers must be an integer >= 1, got 0");
  config = quick_config("paper", 1);
  config.rows = "flatt";
  EXPECT_NE(message_of<InvalidArgumentError>([&] { DenseTrainer(config, 0); }).find("did you mean 'flat'"),
            std::string::npos);
}

}  // namespace
}  // namespace latpred
