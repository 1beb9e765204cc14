#include "latpred/views.h"

#include <gtest/gtest.h>

#include "graph_maker.h"

namespace latpred {
namespace {

using testing::GraphMaker;

TEST(Views, ReshapeOfContiguousDataIsAView) {
  GraphMaker make;
  const TensorId x = make.input({8, 16, 4, 4});
  const TensorId r = make.node(OperatorId::relu, {x}, {8, 16, 4, 4});
  const TensorId flat = make.node(OperatorId::reshape, {r, make.constant({2})}, {8, 256});
  const ViewInfo info = find_views(make.build({flat}));
  EXPECT_EQ(info.is_view, (std::vector<bool>{false, true}));
  EXPECT_EQ(info.base[flat], r);
}

TEST(Views, ReshapeBehindATransposeCopiesWhenItMergesWhatTheTransposeParted) {
  GraphMaker make;
  const TensorId x = make.input({2, 12, 197, 64});
  const TensorId heads = make.node(OperatorId::transpose, {x}, {2, 197, 12, 64}, {{"perm", Shape{0, 2, 1, 3}}});
  const TensorId merged = make.node(OperatorId::reshape, {heads, make.constant({3})}, {2, 197, 768});
  const ViewInfo info = find_views(make.build({merged}));
  EXPECT_EQ(info.is_view, (std::vector<bool>{true, false}));
  EXPECT_EQ(info.base[heads], x);
  EXPECT_EQ(info.base[merged], merged);
}

TEST(Views, SplittingADimensionOfATransposedTensorIsAView) {
  GraphMaker make;
  const TensorId x = make.input({2, 768, 197});
  const TensorId t = make.node(OperatorId::transpose, {x}, {2, 197, 768}, {{"perm", Shape{0, 2, 1}}});
  const TensorId split = make.node(OperatorId::reshape, {t, make.constant({4})}, {2, 197, 12, 64});
  EXPECT_EQ(find_views(make.build({split})).is_view, (std::vector<bool>{true, true}));
}

TEST(Views, TransposeReversesAxesWhenThePermutationIsAbsent) {
  GraphMaker make;
  const TensorId x = make.input({3, 5});
  const TensorId t = make.node(OperatorId::transpose, {x}, {5, 3});
  const TensorId flat = make.node(OperatorId::reshape, {t, make.constant({1})}, {15});
  EXPECT_EQ(find_views(make.build({flat})).is_view, (std::vector<bool>{true, false}));
}

TEST(Views, ExpandedDataCannotBeMergedWithoutACopy) {
  GraphMaker make;
  const TensorId x = make.input({1, 7});
  const TensorId e = make.node(OperatorId::expand, {x, make.constant({2})}, {4, 7});
  const TensorId flat = make.node(OperatorId::reshape, {e, make.constant({1})}, {28});
  EXPECT_EQ(find_views(make.build({flat})).is_view, (std::vector<bool>{true, false}));
}

TEST(Views, EveryPieceOfASplitSharesItsInput) {
  GraphMaker make;
  const TensorId x = make.input({4, 6});
  const auto pieces = make.nodes(OperatorId::split, {x}, {{4, 3}, {4, 3}}, {{"axis", std::int64_t{1}}});
  const ViewInfo info = find_views(make.build(pieces));
  EXPECT_TRUE(info.is_view[0]);
  EXPECT_EQ(info.base[pieces[0]], x);
  EXPECT_EQ(info.base[pieces[1]], x);
}

TEST(Views, GatherAtOneKnownPlaceIsASelectAndOtherGathersCopy) {
  GraphMaker make;
  const TensorId x = make.input({4, 6, 8});
  const TensorId one = make.node(OperatorId::gather, {x, make.constant({})}, {4, 8}, {{"axis", std::int64_t{1}}});
  const TensorId two = make.node(OperatorId::gather, {x, make.constant({2})}, {4, 2, 8}, {{"axis", std::int64_t{1}}});
  EXPECT_EQ(find_views(make.build({one, two})).is_view, (std::vector<bool>{true, false}));
}

}  // namespace
}  // namespace latpred
