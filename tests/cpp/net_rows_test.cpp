#include "batch/net_rows.h"

#include <gtest/gtest.h>

#include <cmath>

#include "latpred/error.h"
#include "message_of.h"
#include "plain_nets.h"

namespace latpred {
using testing::message_of;
using testing::PlainNets;

namespace {

// fnn:16-8-4 and cnn:3-2?size=5, with room for three nodes.
struct TwoNets {
  std::vector<double> attributes{0, 0, 16, 1, 136, 8, 1, 36, 4, 0, 0, 3, 2, 56, 2, 9, 9, 9};
  std::vector<std::int64_t> lengths{3, 2}, positions{1, 25};
  std::vector<double> base_s{0, 1e-6, 2e-6, 0, 4e-6, 0};
  NetTable table() const { return {{attributes, lengths, {}, 2, 3}, positions, base_s}; }
};

TEST(NetRows, FlatRowsAreOperationsWeightsAndAdjacency) {
  const NetRows rows = flat_rows(TwoNets().table(), 4);
  EXPECT_EQ(rows.num_columns, 4 * 4 + 16);
  EXPECT_EQ(rows.first_row, (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(rows.features, (std::vector<double>{
                               // Input, dense, convolution, weights.
                               1, 0, 0, 0, 0, 1, 0, 136, 0, 1, 0, 36, 0, 0, 0, 0,  //
                               0, 1, 0, 0, 0, 0, 1, 0,   0, 0, 0, 0,  0, 0, 0, 0,  // 0 feeds 1, 1 feeds 2
                               1, 0, 0, 0, 0, 0, 1, 56,  0, 0, 0, 0,  0, 0, 0, 0,  //
                               0, 1, 0, 0, 0, 0, 0, 0,   0, 0, 0, 0,  0, 0, 0, 0,
                           }));
  EXPECT_EQ(message_of<InvalidArgumentError>([] { (void)flat_rows(TwoNets().table(), 2); }),
            "flattened features hold 2 nodes, graph 0 has 3");
}

TEST(NetRows, LayerRowsKnowTheirNetAndTheirNeighbours) {
  const NetRows rows = layer_rows(TwoNets().table());
  ASSERT_EQ(rows.first_row, (std::vector<std::int64_t>{0, 2, 3}));
  ASSERT_EQ(rows.num_columns, static_cast<std::int64_t>(layer_columns().size()));
  const auto at = [&](std::int64_t row, const std::string& name) {
    const std::vector<std::string> names = layer_columns();
    const auto column = std::find(names.begin(), names.end(), name) - names.begin();
    return rows.features.at(static_cast<std::size_t>(row * rows.num_columns + column));
  };
  EXPECT_EQ(at(0, "is_convolution"), 0);
  EXPECT_EQ(at(2, "is_convolution"), 1);
  EXPECT_EQ(at(1, "log_units_in"), std::log(8.0));
  EXPECT_EQ(at(1, "log_units"), std::log(4.0));
  EXPECT_EQ(at(1, "log_units_in_of_vector"), std::log(8.0));
  EXPECT_EQ(at(0, "log_units_in_of_vector"), std::log(16.0));  // of more
  EXPECT_EQ(at(0, "log_net_weights"), std::log1p(172.0));
  EXPECT_EQ(at(1, "log_largest_weights"), std::log1p(136.0));
  EXPECT_EQ(at(0, "log_weights_of_next_layer"), std::log1p(36.0));
  EXPECT_EQ(at(1, "log_weights_of_next_layer"), 0);  // behind the last, whatever stands there
  EXPECT_EQ(at(1, "log_weights_before"), std::log1p(136.0));
  EXPECT_EQ(at(0, "log_net_units"), std::log1p(28.0));
  EXPECT_EQ(at(2, "log_net_units"), 0);  // a convolution's
  EXPECT_EQ(rows.log_base, (std::vector<double>{std::log(1e-6), std::log(2e-6), std::log(4e-6)}));
}

TEST(NetRows, WrongNumbersAreNamed) {
  TwoNets nets;
  nets.attributes[3] = 3;
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { check(nets.table()); }),
            "the operation must be 0 (input), 1 (dense) or 2 (convolution), got 3 at node 1 of graph 0");
  nets = TwoNets();
  nets.positions[1] = 0;
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { check(nets.table()); }),
            "positions must be >= 1, got 0 for graph 1");
  nets = TwoNets();
  nets.base_s[4] = 0;
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { (void)layer_rows(nets.table()); }),
            "base_s must be finite seconds > 0 for every layer, got 0 at node 1 of graph 1");
  nets = TwoNets();
  nets.lengths.pop_back();
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { check(nets.table()); }), "lengths must hold 2 numbers, got 1");
}

TEST(NetRows, FingerprintsDifferWhereRowsDo) {
  const TwoNets nets;
  TwoNets other;
  other.attributes.back() = 1;  // behind the last node
  EXPECT_EQ(fingerprint(nets.table()), fingerprint(other.table()));
  other.positions[1] = 36;
  EXPECT_NE(fingerprint(nets.table()), fingerprint(other.table()));
  other = TwoNets();
  other.base_s[1] *= 2;
  EXPECT_NE(fingerprint(nets.table()), fingerprint(other.table()));
}

}  // namespace
}  // namespace latpred
