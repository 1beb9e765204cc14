#include "training/flat_line.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "latpred/error.h"
#include "message_of.h"
#include "plain_nets.h"

namespace latpred {
using testing::message_of;
using testing::PlainNets;

namespace {

TEST(FlatLine, FindsALineInTheWeights) {
  PlainNets nets(300, 6, 1);
  for (std::int64_t g = 0; g < nets.size(); ++g) {
    double seconds = 3e-6 * static_cast<double>(nets.lengths[static_cast<std::size_t>(g)]);
    for (std::int64_t i = 0; i < 6; ++i) {
      seconds += 1e-10 * static_cast<double>(i) * nets.attributes[static_cast<std::size_t>((g * 6 + i) * 3 + 1)];
    }
    nets.target_s[static_cast<std::size_t>(g)] = seconds;
  }
  const FlatLine line(nets.table(), 6);
  const std::vector<double> found = line.predict(nets.table());
  for (std::size_t g = 0; g < found.size(); ++g) EXPECT_NEAR(found[g] / nets.target_s[g], 1, 1e-6);
  EXPECT_EQ(FlatLine(line.arrays(), 6).predict(nets.table()), found);
}

TEST(FlatLine, OfAllLinesItIsTheOneWithTheLeastCoefficients) {
  const PlainNets nets(300, 6, 1);
  const NamedArrays arrays = FlatLine(nets.table(), 6).arrays();
  const auto at = [&](const char* name, std::size_t column) { return arrays.at(name).values[column]; };
  // Node 3 is a dense layer or a convolution exactly where node 2 feeds it: a direction in which no net lies. The least
  // solution has nothing of it.
  const std::size_t dense = 3 * 4 + 1, convolution = 3 * 4 + 2, edge = 6 * 4 + 2 * 6 + 3;
  double along = 0;
  for (const auto& [column, sign] : {std::pair(dense, 1.0), {convolution, 1.0}, {edge, -1.0}}) {
    EXPECT_GT(std::abs(at("coefficients", column)), 0);
    along += sign * at("coefficients", column) * at("deviation", column);
  }
  EXPECT_NEAR(along / std::abs(at("coefficients", edge)), 0, 1e-9);
  // No net has a dense layer first: nothing but rounding.
  EXPECT_NEAR(at("coefficients", 1) / at("coefficients", edge), 0, 1e-9);
  EXPECT_EQ(at("deviation", 1), 1);
}

TEST(FlatLine, WithoutSecondsThereIsNoLine) {
  const PlainNets nets(30, 6, 1);
  NetTable table = nets.table();
  table.tokens.target_s = {};
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { FlatLine(table, 6); }),
            "a line needs target_s, the seconds of each net, got none");
}

}  // namespace
}  // namespace latpred
