#include "kernels/loop_order.h"

#include <gtest/gtest.h>

#include "graph_maker.h"
#include "latpred/views.h"

namespace latpred {
namespace {

using testing::GraphMaker;

const Shape kSize{4, 6};
const Shape kRows{6, 1};  // strides of kSize
const Shape kColumns{1, 4};

TensorId transposed(GraphMaker& make) { return make.node(OperatorId::transpose, {make.input({6, 4})}, kSize); }

// Expected values are what pick_loop_order of torch 2.13 answers for the same strides.
TEST(LoopOrder, MostOperandsDecide) {
  GraphMaker make;
  const TensorId a = transposed(make);
  const TensorId b = transposed(make);
  const TensorId c = make.input(kSize);
  const TensorId even = make.node(OperatorId::add, {a, c}, kSize);
  const TensorId where = make.node(OperatorId::where, {c, a, b}, kSize);
  const ViewInfo info = find_views(make.build({even, where}), false, Ordering::inductor);
  EXPECT_EQ(info.strides[even], kRows);
  EXPECT_EQ(info.strides[where], kColumns);
}

TEST(LoopOrder, RepeatedTensorsHaveNoSay) {
  GraphMaker make;
  const TensorId bias = make.node(OperatorId::add, {transposed(make), make.weight({6})}, kSize);
  EXPECT_EQ(find_views(make.build({bias}), false, Ordering::inductor).strides[bias], kColumns);
}

TEST(LoopOrder, OperandsAreWhatTheyWereComputedFrom) {
  GraphMaker make;
  const TensorId a = transposed(make);
  const TensorId sum = make.node(OperatorId::add, {a, transposed(make)}, kSize);
  const TensorId next = make.node(OperatorId::add, {make.input(kSize), sum}, kSize);  // two columns to one row
  const TensorId again = make.node(OperatorId::add, {a, a}, kSize);                   // one tensor
  const TensorId even = make.node(OperatorId::add, {make.input(kSize), again}, kSize);
  const ViewInfo info = find_views(make.build({next, even}), false, Ordering::inductor);
  EXPECT_EQ(info.strides[next], kColumns);
  EXPECT_EQ(info.strides[even], kRows);
}

TEST(LoopOrder, WhatIsSharedAndReadsMuchIsInMemory) {
  const auto strides_of_last = [](int num_summed, bool is_shared) {
    GraphMaker make;
    TensorId sum = transposed(make);
    for (int i = 1; i < num_summed; ++i) sum = make.node(OperatorId::add, {sum, transposed(make)}, kSize);
    const TensorId other = make.node(OperatorId::exp, {is_shared ? sum : make.input(kSize)}, kSize);
    const TensorId last = make.node(OperatorId::add, {sum, make.input(kSize)}, kSize);
    return find_views(make.build({other, last}), false, Ordering::inductor).strides[last];
  };
  EXPECT_EQ(strides_of_last(4, true), kColumns);
  EXPECT_EQ(strides_of_last(5, true), kRows);  // one column against one row
  EXPECT_EQ(strides_of_last(5, false), kColumns);
}

TEST(LoopOrder, NormsKeepTheirInputsOrder) {
  GraphMaker make;
  const TensorId norm =
      make.node(OperatorId::layer_norm, {transposed(make), make.weight({6}), make.weight({6})}, kSize);
  EXPECT_EQ(find_views(make.build({norm}), false, Ordering::inductor).strides[norm], kColumns);
  EXPECT_EQ(find_views(make.build({norm})).strides[norm], kRows);
}

TEST(LoopOrder, PaddingKeepsItsInputsOrder) {
  GraphMaker make;
  const TensorId pad = make.node(OperatorId::pad, {transposed(make)}, {5, 6});
  EXPECT_EQ(find_views(make.build({pad}), false, Ordering::inductor).strides[pad], (Shape{1, 5}));
  EXPECT_EQ(find_views(make.build({pad})).strides[pad], (Shape{6, 1}));
}

}  // namespace
}  // namespace latpred
