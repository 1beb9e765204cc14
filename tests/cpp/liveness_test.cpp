#include "memory/liveness.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graph_maker.h"
#include "latpred/error.h"
#include "message_of.h"

namespace latpred {
namespace {

using testing::GraphMaker;
using testing::message_of;

constexpr std::int64_t kUnit = 4 * 2 * 8;  // bytes of a float32 [2, 8]

std::int64_t activation_peak(const Graph& graph, bool autograd = false, std::string_view runtime = "eager",
                             std::string_view precision = "default") {
  const MemoryPlan plan = plan_memory(graph, fuse(graph, runtime, precision), autograd);
  return peak_of(plan.blocks, plan.num_steps).size_bytes;
}

TEST(Peak, BlocksAreAliveFromTheirFirstStepToTheirLast) {
  const MemoryPeak peak = peak_of({{10, 0, 1}, {5, 1, 2}, {7, 2, 2}}, 3);
  EXPECT_EQ(peak.size_bytes, 15);
  EXPECT_EQ(peak.step, 1);
  EXPECT_EQ(peak_of({}, 0).size_bytes, 0);
  EXPECT_EQ(peak_of({}, 0).step, -1);
}

TEST(Liveness, AChainNeedsTheInputAndTheOutputOfOneOperator) {
  GraphMaker make;
  TensorId x = make.input({2, 8});
  for (int i = 0; i < 5; ++i) x = make.node(OperatorId::relu, {x}, {2, 8});
  // The first reads the caller's tensor; each one behind it has its input and its output alive.
  EXPECT_EQ(activation_peak(make.build({x})), 2 * kUnit);
}

TEST(Liveness, ASkipConnectionIsHeldUntilItIsAdded) {
  GraphMaker make;
  const TensorId x = make.input({2, 8});
  const TensorId skip = make.node(OperatorId::relu, {x}, {2, 8});
  const TensorId a = make.node(OperatorId::exp, {skip}, {2, 8});
  const TensorId b = make.node(OperatorId::exp, {a}, {2, 8});
  const TensorId sum = make.node(OperatorId::add, {b, skip}, {2, 8});
  const TensorId after = make.node(OperatorId::relu, {sum}, {2, 8});
  EXPECT_EQ(activation_peak(make.build({after})), 3 * kUnit);
}

TEST(Liveness, OutputsOfTheNetworkLiveToItsEnd) {
  GraphMaker make;
  const TensorId x = make.input({2, 8});
  const TensorId early = make.node(OperatorId::relu, {x}, {2, 8});
  TensorId y = early;
  for (int i = 0; i < 3; ++i) y = make.node(OperatorId::exp, {y}, {2, 8});
  EXPECT_EQ(activation_peak(make.build({early, y})), 3 * kUnit);
}

TEST(Liveness, AViewTakesNothingAndKeepsItsBaseAlive) {
  GraphMaker make;
  const TensorId x = make.input({2, 8});
  const TensorId base = make.node(OperatorId::relu, {x}, {2, 8});
  const TensorId view = make.node(OperatorId::reshape, {base, make.constant({1})}, {16});
  const TensorId a = make.node(OperatorId::exp, {base}, {2, 8});
  const TensorId b = make.node(OperatorId::exp, {a}, {2, 8});
  const TensorId flat = make.node(OperatorId::reshape, {b, make.constant({1})}, {16});
  const TensorId sum = make.node(OperatorId::add, {flat, view}, {16});
  EXPECT_EQ(activation_peak(make.build({sum})), 3 * kUnit);  // base through its view, b, sum
}

TEST(Liveness, AReshapeBehindAPointWiseOperatorOnATransposedTensorCopies) {
  GraphMaker make;
  const TensorId x = make.input({4, 6, 8});
  const TensorId t = make.node(OperatorId::transpose, {x}, {4, 8, 6}, {{"perm", Shape{0, 2, 1}}});
  const TensorId r = make.node(OperatorId::relu, {t}, {4, 8, 6});  // keeps the order in memory
  const TensorId flat = make.node(OperatorId::reshape, {r, make.constant({2})}, {4, 48});
  const TensorId y = make.node(OperatorId::relu, {flat}, {4, 48});
  const std::int64_t size = 4 * 4 * 6 * 8;
  const MemoryPlan plan = plan_memory(make.build({y}), fuse(make.build({y}), "eager", "default"), false);
  ASSERT_EQ(plan.blocks.size(), 3u);  // relu, the copy, relu
  for (const MemoryBlock& block : plan.blocks) EXPECT_EQ(block.size_bytes, size);
}

TEST(Liveness, APieceOfASplitKeepsTheWholeAlive) {
  GraphMaker make;
  const TensorId x = make.input({2, 8});
  const TensorId whole = make.node(OperatorId::relu, {x}, {2, 8});
  const auto pieces = make.nodes(OperatorId::split, {whole}, {{2, 4}, {2, 4}}, {{"axis", std::int64_t{1}}});
  const TensorId a = make.node(OperatorId::exp, {pieces[0]}, {2, 4});
  const TensorId b = make.node(OperatorId::mul, {a, pieces[1]}, {2, 4});
  EXPECT_EQ(activation_peak(make.build({b})), kUnit + kUnit / 2 + kUnit / 2);
}

TEST(Liveness, StatisticsAndIndicesCountWhileTheirOperatorRuns) {
  GraphMaker make;
  const TensorId x = make.input({2, 8, 4, 4});
  const TensorId pooled = make.node(OperatorId::max_pool, {x}, {2, 8, 2, 2}, {{"kernel_shape", Shape{2, 2}}});
  EXPECT_EQ(activation_peak(make.build({pooled})), 2 * 8 * 2 * 2 * (4 + 8));  // values and int64 indices

  GraphMaker norm;
  const TensorId y = norm.input({2, 3, 8});
  const TensorId normed = norm.node(OperatorId::layer_norm, {y, norm.weight({8}), norm.weight({8})}, {2, 3, 8});
  EXPECT_EQ(activation_peak(norm.build({normed})), 4 * (2 * 3 * 8 + 2 * 2 * 3));
}

TEST(Liveness, WhatWorksInPlaceTakesNothing) {
  GraphMaker make;
  const TensorId x = make.input({2, 8});
  const TensorId a = make.node(OperatorId::exp, {x}, {2, 8});
  const TensorId b = make.node(OperatorId::relu, {a}, {2, 8});
  const TensorId c = make.node(OperatorId::relu, {b}, {2, 8});
  Graph graph = make.build({c});
  EXPECT_EQ(activation_peak(graph), 2 * kUnit);
  for (const char* name : {"aten.relu_.default", "aten::relu_"}) {
    for (Node& node : graph.nodes) {
      if (node.op == OperatorId::relu) node.source_operator = name;
    }
    EXPECT_EQ(activation_peak(graph), kUnit) << name;
  }
  for (Node& node : graph.nodes) node.source_operator = "aten.__relu__.default";
  EXPECT_EQ(activation_peak(graph), 2 * kUnit);
}

TEST(Liveness, AttentionOfAnotherRankWritesItsScoresTwice) {
  for (const bool is_fused : {true, false}) {
    const Shape shape = is_fused ? Shape{2, 3, 4, 8} : Shape{2, 3, 1, 4, 8};
    GraphMaker make;
    const TensorId q = make.input(shape);
    const TensorId y =
        make.node(OperatorId::scaled_dot_product_attention, {q, make.input(shape), make.input(shape)}, shape);
    const std::int64_t rows = 2 * 3 * 4;
    EXPECT_EQ(activation_peak(make.build({y})), rows * 8 * 4 + (is_fused ? rows * 4 : 2 * rows * 4 * 4));
  }
}

TEST(Autograd, KeepsWhatBackwardNeedsAndNothingElse) {
  GraphMaker make;
  const TensorId x = make.input({2, 8});
  const TensorId a = make.node(OperatorId::linear, {x, make.weight({8, 8})}, {2, 8});  // saves x, the caller's
  const TensorId b = make.node(OperatorId::relu, {a}, {2, 8});                         // saves b
  const TensorId c = make.node(OperatorId::add, {b, b}, {2, 8});                       // nothing
  const TensorId d = make.node(OperatorId::gelu, {c}, {2, 8});                         // saves c
  const TensorId e = make.node(OperatorId::neg, {d}, {2, 8});                          // nothing
  const Graph graph = make.build({e});
  EXPECT_EQ(activation_peak(graph), 2 * kUnit);
  EXPECT_EQ(activation_peak(graph, true), 4 * kUnit);  // b, c, d, e: d goes when neg is done
}

TEST(Autograd, RecordsNothingBeforeTheFirstParameter) {
  GraphMaker make;
  TensorId x = make.input({2, 8});
  for (int i = 0; i < 5; ++i) x = make.node(OperatorId::gelu, {x}, {2, 8});
  const Graph graph = make.build({x});
  EXPECT_EQ(activation_peak(graph, true), activation_peak(graph));
}

TEST(Autograd, AFactorIsKeptForTheOtherOnesGradientOnly) {
  GraphMaker make;
  const TensorId x = make.input({2, 8});
  const TensorId plain = make.node(OperatorId::relu, {x}, {2, 8});                        // no gradient
  const TensorId scaled = make.node(OperatorId::mul, {plain, make.weight({8})}, {2, 8});  // saves plain
  const TensorId twice = make.node(OperatorId::mul, {scaled, plain}, {2, 8});             // saves plain, not scaled
  const TensorId y = make.node(OperatorId::neg, {twice}, {2, 8});
  EXPECT_EQ(activation_peak(make.build({y}), true), 3 * kUnit);
}

TEST(Autograd, IsRefusedByRuntimesThatOnlyInfer) {
  GraphMaker make;
  const Graph graph = make.build({make.node(OperatorId::relu, {make.input({2, 8})}, {2, 8})});
  const Kernels kernels = fuse(graph, "tensorrt", "default");
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { (void)plan_memory(graph, kernels, true); }),
            "autograd=True: runtime 'tensorrt' only infers and keeps nothing for backward; use runtime 'eager' or "
            "'compiled', or autograd=False");
}

TEST(Fused, TensorsInsideAGroupAreNeverStored) {
  GraphMaker make;
  TensorId x = make.input({2, 8});
  x = make.node(OperatorId::linear, {x, make.weight({8, 8})}, {2, 8});
  for (int i = 0; i < 4; ++i) x = make.node(OperatorId::exp, {x}, {2, 8});
  const Graph graph = make.build({x});
  ASSERT_EQ(fuse(graph, "tensorrt", "default").rows.size(), 1u);
  EXPECT_EQ(activation_peak(graph), 2 * kUnit);
  EXPECT_EQ(activation_peak(graph, false, "tensorrt"), kUnit);
}

// Inductor: the product is the library's, the activation behind it writes over its output.
TEST(Fused, APointWiseKernelWritesOverAnInputThatNothingReadsAfterwards) {
  GraphMaker make;
  const TensorId x = make.input({2, 8});
  const TensorId a = make.node(OperatorId::linear, {x, make.weight({8, 8})}, {2, 8});
  const TensorId b = make.node(OperatorId::gelu, {a}, {2, 8});
  const TensorId c = make.node(OperatorId::linear, {b, make.weight({8, 8})}, {2, 8});
  EXPECT_EQ(activation_peak(make.build({c}), false, "compiled"), 2 * kUnit);           // a and b are one; c
  const TensorId d = make.node(OperatorId::linear, {a, make.weight({8, 8})}, {2, 8});  // reads a afterwards
  EXPECT_EQ(activation_peak(make.build({c, d}), false, "compiled"), 3 * kUnit);
}

TEST(Fused, WhatLeavesAGroupIsStored) {
  GraphMaker make;
  const TensorId x = make.input({2, 8});
  const TensorId a = make.node(OperatorId::exp, {x}, {2, 8});
  const TensorId b = make.node(OperatorId::exp, {a}, {2, 8});
  const TensorId c = make.node(OperatorId::linear, {b, make.weight({8, 8})}, {2, 8});
  const TensorId d = make.node(OperatorId::linear, {c, make.weight({8, 8})}, {2, 8});
  // exp+exp store b; b and c, then c and d are alive together.
  EXPECT_EQ(activation_peak(make.build({d}), false, "compiled"), 2 * kUnit);
}

TEST(Precision, HalfActivationsTakeHalf) {
  GraphMaker make;
  TensorId x = make.input({2, 8});
  for (int i = 0; i < 3; ++i) x = make.node(OperatorId::exp, {x}, {2, 8});
  EXPECT_EQ(activation_peak(make.build({x}), false, "eager", "fp16"), kUnit);
  EXPECT_EQ(activation_peak(make.build({x}), false, "eager", "bf16"), kUnit);
}

TEST(Precision, AutocastKeepsTheHalfCopyOfAWeight) {
  GraphMaker make;
  const TensorId x = make.input({2, 8});
  const TensorId y = make.node(OperatorId::linear, {x, make.weight({16, 8})}, {2, 16});
  const TensorId z = make.node(OperatorId::relu, {y}, {2, 16});
  const Graph graph = make.build({z});
  const MemoryPlan plan = plan_memory(graph, fuse(graph, "eager", "amp"), false);
  EXPECT_EQ(plan.weights, (std::vector<std::int64_t>{16 * 8 * 4}));  // float32 stays
  std::vector<std::int64_t> sizes;
  for (const MemoryBlock& block : plan.blocks) sizes.push_back(block.size_bytes);
  std::sort(sizes.begin(), sizes.end());
  // The input's copy (gone after the product), y and z in half, the weight's copy.
  EXPECT_EQ(sizes, (std::vector<std::int64_t>{2 * 8 * 2, 2 * 16 * 2, 2 * 16 * 2, 16 * 8 * 2}));
  EXPECT_EQ(peak_of(plan.blocks, plan.num_steps).size_bytes, 16 * 8 * 2 + 2 * (2 * 16 * 2));
}

// The exponential is float32 under autocast; the product behind it reads it in half precision.
TEST(Precision, AFusingRuntimeWritesHalvedWhatAllReadersWantHalved) {
  GraphMaker make;
  const TensorId x = make.input({2, 8});
  const TensorId y = make.node(OperatorId::exp, {x}, {2, 8});
  const TensorId z = make.node(OperatorId::linear, {y, make.weight({8, 8})}, {2, 8});
  const Graph graph = make.build({z});
  const auto peak = [&](std::string_view runtime) {
    const MemoryPlan plan = plan_memory(graph, fuse(graph, runtime, "amp"), false);
    return peak_of(plan.blocks, plan.num_steps).size_bytes;
  };
  const std::int64_t half = 2 * 8 * 2;
  const std::int64_t weight = 8 * 8 * 2;                      // autocast's copy
  EXPECT_EQ(peak("compiled"), half + weight + half);          // y, z
  EXPECT_EQ(peak("eager"), 2 * half + half + weight + half);  // y and its copy
}

}  // namespace
}  // namespace latpred
