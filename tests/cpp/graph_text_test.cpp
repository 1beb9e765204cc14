#include "latpred/graph_text.h"

#include <gtest/gtest.h>

#include "graph_maker.h"

namespace latpred::testing {
namespace {

TEST(GraphText, one_line_for_each_node) {
  GraphMaker maker;
  const TensorId x = maker.input({1, 3, 8, 8});
  const TensorId y = maker.node(OperatorId::conv, {x, maker.weight({4, 3, 3, 3}), kAbsent}, {1, 4, 6, 6});
  const TensorId z = maker.node(OperatorId::relu, {y}, {1, 4, 6, 6});
  maker.repeat_last(3);
  EXPECT_EQ(to_text(maker.build({z})),
            "conv_0: conv(t0 [1, 3, 8, 8], t1 [4, 3, 3, 3], -) -> t2 [1, 4, 6, 6]\n"
            "relu_1: relu(t2 [1, 4, 6, 6]) -> t3 [1, 4, 6, 6] x3\n");
}

}  // namespace
}  // namespace latpred::testing
