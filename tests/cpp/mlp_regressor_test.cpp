#include "training/mlp_regressor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "latpred/error.h"
#include "message_of.h"

namespace latpred {
using testing::message_of;

namespace {

constexpr std::int64_t kNumFeatures = 3;

struct Rows {
  std::vector<double> features;  // [N, 3]
  std::vector<double> targets;   // [N]

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(targets.size()); }
  [[nodiscard]] RowTable table() const { return {features, targets, size(), kNumFeatures}; }
  [[nodiscard]] RowTable unlabelled() const { return {features, {}, size(), kNumFeatures}; }
};

// A roofline: the larger of two linear functions, which no linear model can follow; columns of very different size.
Rows roofline_rows(std::int64_t num_rows, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  Rows rows;
  for (std::int64_t row = 0; row < num_rows; ++row) {
    const double flops = uniform(random) * 1e12;
    const double bytes = uniform(random) * 1e9;
    const double noise = uniform(random);
    rows.features.insert(rows.features.end(), {flops, bytes, noise});
    rows.targets.push_back(std::max(flops / 1e13, bytes / 1e10));
  }
  return rows;
}

double mean_relative_error(const std::vector<double>& predicted, const std::vector<double>& expected) {
  double sum = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i) sum += std::abs(predicted[i] - expected[i]) / expected[i];
  return sum / static_cast<double>(predicted.size());
}

FitOptions sixty_epochs() { return {.epochs = 60, .batch_rows = 64, .learning_rate = 1e-2, .seed = 7}; }

TEST(MlpRegressor, LearnsARooflineAndCarriesItToNewRows) {
  MlpRegressor regressor({32, 32});
  const Rows rows = roofline_rows(512, 1);
  const FitReport report = regressor.fit(rows.table(), sixty_epochs());
  ASSERT_EQ(report.losses.size(), 60u);
  EXPECT_LT(report.losses.back(), report.losses.front() / 50);
  EXPECT_EQ(regressor.num_parameters(), 3 * 32 + 32 + 32 * 32 + 32 + 32 + 1);

  const Rows unseen = roofline_rows(256, 2);
  EXPECT_LT(mean_relative_error(regressor.predict(unseen.unlabelled()), unseen.targets), 0.05);
}

TEST(MlpRegressor, WithoutHiddenLayersCannotLearnIt) {
  MlpRegressor linear({});
  const Rows rows = roofline_rows(512, 1);
  const FitReport report = linear.fit(rows.table(), sixty_epochs());
  EXPECT_GT(report.losses.back(), report.losses.front() / 50);
}

TEST(MlpRegressor, SameSeedSameNumbersOtherSeedOthers) {
  const Rows rows = roofline_rows(128, 1);
  const auto predictions = [&](std::uint64_t seed) {
    MlpRegressor regressor({16});
    FitOptions options = sixty_epochs();
    options.epochs = 5;
    options.seed = seed;
    (void)regressor.fit(rows.table(), options);
    return regressor.predict(rows.unlabelled());
  };
  EXPECT_EQ(predictions(3), predictions(3));
  EXPECT_NE(predictions(3), predictions(4));
}

TEST(MlpRegressor, AColumnThatDoesNotVaryIsHarmless) {
  Rows rows = roofline_rows(64, 1);
  for (std::size_t i = 2; i < rows.features.size(); i += kNumFeatures) rows.features[i] = 5;
  MlpRegressor regressor({8});
  (void)regressor.fit(rows.table(), sixty_epochs());
  for (const double value : regressor.predict(rows.unlabelled())) EXPECT_TRUE(std::isfinite(value));
}

TEST(MlpRegressor, RefusesWhatItCannotUse) {
  Rows rows = roofline_rows(4, 1);
  MlpRegressor regressor({8});
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { (void)regressor.predict(rows.unlabelled()); }),
            "predict needs a trained regressor: call fit first");
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { (void)regressor.fit(rows.unlabelled(), sixty_epochs()); }),
            "fit needs a target for each row, got none");
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { MlpRegressor({8, 0}); }),
            "each width in hidden must be an integer >= 1, got 0");
  (void)regressor.fit(rows.table(), sixty_epochs());
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { (void)regressor.predict({rows.features, {}, 6, 2}); }),
            "this regressor was trained on rows of 3 features, got rows of 2");
  rows.features[4] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { (void)regressor.fit(rows.table(), sixty_epochs()); }),
            "features must be finite 32-bit numbers, got nan in row 1, column 1");
}

TEST(MlpRegressor, LibTorchsErrorsAreOneLine) {
  // 2^60 bytes of weights: more than any machine has.
  MlpRegressor regressor({std::int64_t{1} << 58});
  const Rows rows = roofline_rows(4, 1);
  const std::string message = message_of<Error>([&] { (void)regressor.fit(rows.table(), sixty_epochs()); });
  EXPECT_EQ(message.rfind("LibTorch: ", 0), 0u) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

}  // namespace
}  // namespace latpred
