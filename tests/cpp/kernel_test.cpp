#include "latpred/kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "graph_maker.h"
#include "latpred/error.h"
#include "latpred/program.h"

namespace latpred {
namespace {

using testing::GraphMaker;

constexpr std::int64_t kBatch = 2;

GraphMaker::Settings conv_settings(std::int64_t group = 1) {
  return {{"kernel_shape", Shape{3, 3}}, {"pads", Shape{1, 1, 1, 1}}, {"strides", Shape{1, 1}}, {"group", group}};
}

// input -> conv -> batch norm -> relu -> add(input side) -> output
Graph residual_block() {
  GraphMaker make;
  const Shape shape{kBatch, 16, 8, 8};
  const TensorId x = make.input(shape);
  const TensorId c = make.node(OperatorId::conv, {x, make.weight({16, 16, 3, 3})}, shape, conv_settings());
  const TensorId b = make.node(OperatorId::batch_norm,
                               {c, make.weight({16}), make.weight({16}), make.weight({16}), make.weight({16})}, shape);
  const TensorId r = make.node(OperatorId::relu, {b}, shape);
  return make.build({make.node(OperatorId::add, {r, x}, shape)});
}

// q k^T -> scale -> softmax -> v
Graph attention_block() {
  GraphMaker make;
  const TensorId q = make.input({kBatch, 4, 32, 16});
  const TensorId k = make.input({kBatch, 4, 16, 32});
  const TensorId v = make.input({kBatch, 4, 32, 16});
  const Shape scores{kBatch, 4, 32, 32};
  const TensorId s = make.node(OperatorId::matmul, {q, k}, scores);
  const TensorId scaled = make.node(OperatorId::mul, {s, make.weight({1})}, scores);
  const TensorId p = make.node(OperatorId::softmax, {scaled}, scores);
  return make.build({make.node(OperatorId::matmul, {p, v}, {kBatch, 4, 32, 16})});
}

std::shared_ptr<const Program> program_of_pytorch() {
  Program program;
  program.source.framework = "pytorch";
  return std::make_shared<const Program>(std::move(program));
}

double total_macs(const Kernels& kernels) {
  double sum = 0;
  for (const Kernel& row : kernels.rows) sum += row.macs * static_cast<double>(row.repeat);
  return sum;
}

double total_bytes(const Kernels& kernels) {
  double sum = 0;
  for (const Kernel& row : kernels.rows) sum += row.bytes() * static_cast<double>(row.repeat);
  return sum;
}

std::vector<CostKind> kinds(const Kernels& kernels) {
  std::vector<CostKind> result;
  for (const Kernel& row : kernels.rows) result.push_back(row.kind);
  return result;
}

TEST(Kernels, EagerRunsOneForEachOperatorThatMovesData) {
  GraphMaker make;
  const TensorId x = make.input({kBatch, 3, 8, 8});
  const TensorId c = make.node(OperatorId::conv, {x, make.weight({16, 3, 3, 3})}, {kBatch, 16, 8, 8}, conv_settings());
  const TensorId f = make.node(OperatorId::flatten, {c}, {kBatch, 1024});
  const TensorId y = make.node(OperatorId::gemm, {f, make.weight({1024, 10})}, {kBatch, 10});
  const Kernels kernels = fuse(make.build({y}), "eager", "default");
  EXPECT_EQ(kinds(kernels), (std::vector{CostKind::conv, CostKind::matmul}));
  EXPECT_EQ(kernels.num_launches, 2);
  EXPECT_EQ(kernels.num_views, 1);
  EXPECT_EQ(kernels.rows[0].arithmetic, Arithmetic::tf32);
  EXPECT_EQ(kernels.rows[1].arithmetic, Arithmetic::fp32);
  EXPECT_DOUBLE_EQ(kernels.rows[0].window, 9);
  EXPECT_DOUBLE_EQ(kernels.rows[1].m, kBatch);
  EXPECT_DOUBLE_EQ(kernels.rows[1].k, 1024);
}

TEST(Kernels, OnlyWindowsOf3x3WithoutGapsAreWinograds) {
  const auto is_3x3 = [](const Shape& window, std::int64_t dilation) {
    GraphMaker make;
    const TensorId x = make.input({kBatch, 8, 16, 16});
    const TensorId y =
        make.node(OperatorId::conv, {x, make.weight({16, 8, window[0], window[1]})}, {kBatch, 16, 16, 16},
                  {{"kernel_shape", window}, {"dilations", Shape{dilation, dilation}}, {"strides", Shape{1, 1}}});
    return fuse(make.build({y}), "eager", "fp32").rows.at(0).is_3x3;
  };
  EXPECT_TRUE(is_3x3({3, 3}, 1));
  EXPECT_FALSE(is_3x3({3, 3}, 2));
  EXPECT_FALSE(is_3x3({1, 9}, 1));
  EXPECT_FALSE(is_3x3({9, 1}, 1));
}

TEST(Kernels, OnlyPyTorchInterpolatesWithAThreadForAPixel) {
  GraphMaker make;
  const TensorId x = make.input({kBatch, 16, 8, 8});
  const TensorId y = make.node(OperatorId::resize, {x}, {kBatch, 16, 16, 16}, {{"mode", std::string("linear")}});
  const Graph graph = make.build({y});
  EXPECT_TRUE(fuse(graph, "eager", "fp32").rows.at(0).interpolates);
  for (const std::string_view runtime : {"compiled", "tensorrt", "onnxruntime", "openvino"}) {
    EXPECT_FALSE(fuse(graph, runtime, "fp32").rows.at(0).interpolates) << runtime;
  }
}

TEST(Kernels, FusionKeepsTheWorkAndSavesTheTraffic) {
  const Graph graph = residual_block();
  const Kernels eager = fuse(graph, "eager", "default");
  const Kernels fused = fuse(graph, "tensorrt", "default");
  ASSERT_EQ(fused.rows.size(), 1U);
  EXPECT_EQ(fused.rows[0].kind, CostKind::conv);
  EXPECT_EQ(fused.rows[0].members, (std::vector<NodeId>{0, 1, 2, 3}));
  EXPECT_DOUBLE_EQ(total_macs(fused), total_macs(eager));
  // Left: the input read by the convolution and by the addition, one output, the weights.
  const double tensor_bytes = kBatch * 16 * 8 * 8 * 4;
  EXPECT_DOUBLE_EQ(fused.rows[0].bytes_in, 2 * tensor_bytes);
  EXPECT_DOUBLE_EQ(fused.rows[0].bytes_out, tensor_bytes);
  EXPECT_LT(total_bytes(fused), total_bytes(eager));
}

// Two convolutions with norms, added and rectified; the second norm is the result too where `is_read_twice`.
Kernels two_branches(std::string_view runtime, bool is_read_twice) {
  GraphMaker make;
  const Shape shape{kBatch, 16, 8, 8};
  const TensorId x = make.input(shape);
  const auto branch = [&] {
    const TensorId c = make.node(OperatorId::conv, {x, make.weight({16, 16, 3, 3})}, shape, conv_settings());
    const TensorId w = make.weight({16});
    return make.node(OperatorId::batch_norm, {c, w, w, w, w}, shape);
  };
  const TensorId first = branch();
  const TensorId second = branch();
  const TensorId y = make.node(OperatorId::relu, {make.node(OperatorId::add, {first, second}, shape)}, shape);
  return fuse(make.build(is_read_twice ? std::vector{y, first} : std::vector{y}), runtime, "fp32");
}

TEST(Kernels, ACodeGeneratorComputesBothBranchesOfAnAdditionAtOnce) {
  const double tensor_bytes = kBatch * 16 * 8 * 8 * 4;
  const Kernels kernels = two_branches("compiled", false);
  EXPECT_EQ(kinds(kernels), (std::vector{CostKind::conv, CostKind::conv, CostKind::batch_norm}));
  EXPECT_EQ(kernels.rows[2].members, (std::vector<NodeId>{1, 3, 4, 5}));
  EXPECT_EQ(kernels.num_launches, 3);
  EXPECT_DOUBLE_EQ(kernels.rows[2].bytes_in, 2 * tensor_bytes);
  EXPECT_DOUBLE_EQ(kernels.rows[2].bytes_out, tensor_bytes);
  EXPECT_DOUBLE_EQ(total_macs(kernels), total_macs(two_branches("eager", false)));
  // What somebody else reads is a kernel of its own.
  const Kernels apart = two_branches("compiled", true);
  EXPECT_EQ(kinds(apart), (std::vector{CostKind::conv, CostKind::batch_norm, CostKind::conv, CostKind::batch_norm}));
}

// Rotary positions: x * cos + [-x2, x1] * sin, of two halves of x.
TEST(Kernels, ACodeGeneratorLoadsAnElementOnceAndWritesPartsToTheirPlace) {
  GraphMaker make;
  const Shape shape{kBatch, 32, 64};
  const Shape half{kBatch, 32, 32};
  const TensorId x = make.node(OperatorId::linear, {make.input(shape), make.weight({64, 64})}, shape);
  const TensorId straight = make.node(OperatorId::mul, {x, make.weight({64})}, shape);
  const TensorId left = make.node(OperatorId::slice, {x}, half);
  const TensorId right = make.node(OperatorId::neg, {make.node(OperatorId::slice, {x}, half)}, half);
  const TensorId turned = make.node(OperatorId::concat, {right, left}, shape, {{"axis", std::int64_t{2}}});
  const TensorId scaled = make.node(OperatorId::mul, {turned, make.weight({64})}, shape);
  const Graph graph = make.build({make.node(OperatorId::add, {straight, scaled}, shape)});
  const Kernels kernels = fuse(graph, "compiled", "fp32");
  ASSERT_EQ(kernels.rows.size(), 2U);
  const double tensor_bytes = kBatch * 32 * 64 * 4;
  EXPECT_DOUBLE_EQ(kernels.rows[1].bytes_in, tensor_bytes);
  EXPECT_DOUBLE_EQ(kernels.rows[1].bytes_out, tensor_bytes);
  EXPECT_EQ(fuse(graph, "eager", "fp32").rows.size(), 6U);
}

TEST(Kernels, ATensorWithTwoReadersEndsAGroup) {
  GraphMaker make;
  const Shape shape{kBatch, 16, 8, 8};
  const TensorId x = make.input(shape);
  const TensorId c = make.node(OperatorId::conv, {x, make.weight({16, 16, 3, 3})}, shape, conv_settings());
  const TensorId r = make.node(OperatorId::relu, {c}, shape);
  const TensorId s = make.node(OperatorId::sigmoid, {c}, shape);
  const Kernels kernels = fuse(make.build({make.node(OperatorId::mul, {r, s}, shape)}), "tensorrt", "fp16");
  ASSERT_EQ(kernels.rows.size(), 3U);
  EXPECT_EQ(kernels.rows[0].members, std::vector<NodeId>{0});
}

// The gate of an image: a library's epilogue has its elements in registers, not those of the image.
TEST(Kernels, WhatALibraryMakesIsRepeatedInAKernelOfItsOwn) {
  GraphMaker make;
  const Shape image{kBatch, 16, 8, 8};
  const Shape pooled{kBatch, 16, 1, 1};
  const TensorId x = make.input(image);
  const TensorId mean = make.node(OperatorId::global_average_pool, {x}, pooled);
  const TensorId c = make.node(OperatorId::conv, {mean, make.weight({16, 16, 3, 3})}, pooled, conv_settings());
  const TensorId gate = make.node(OperatorId::sigmoid, {c}, pooled);
  const Kernels kernels = fuse(make.build({make.node(OperatorId::mul, {x, gate}, image)}), "tensorrt", "fp32");
  ASSERT_EQ(kernels.rows.size(), 3U);
  EXPECT_EQ(kernels.rows[1].members, (std::vector<NodeId>{1, 2}));
  EXPECT_EQ(kernels.rows[2].kind, CostKind::binary);
}

TEST(Kernels, AttentionIsRecognisedWhereTheRuntimeFusesIt) {
  const Graph graph = attention_block();
  const Kernels fused = fuse(graph, "tensorrt", "fp16");
  ASSERT_EQ(fused.rows.size(), 1U);
  EXPECT_EQ(fused.rows[0].kind, CostKind::attention);
  EXPECT_EQ(fuse(graph, "eager", "fp16").rows.size(), 4U);
}

TEST(Kernels, HalfPrecisionHalvesTheBytes) {
  const Graph graph = residual_block();
  EXPECT_DOUBLE_EQ(total_bytes(fuse(graph, "eager", "fp16")), total_bytes(fuse(graph, "eager", "fp32")) / 2);
}

TEST(Kernels, AutocastInsertsCastsAndFollowsItsLists) {
  const Kernels kernels = fuse(residual_block(), "eager", "amp");
  // Casts of the input and of the weight, then conv, norm and relu in half precision, then an addition with the
  // float32 input.
  EXPECT_EQ(kinds(kernels), (std::vector{CostKind::cast, CostKind::cast, CostKind::conv, CostKind::batch_norm,
                                         CostKind::unary, CostKind::binary}));
  EXPECT_EQ(kernels.rows[2].arithmetic, Arithmetic::fp16);
  const double elements = kBatch * 16 * 8 * 8;
  EXPECT_DOUBLE_EQ(kernels.rows[0].bytes_in, 4 * elements);
  EXPECT_DOUBLE_EQ(kernels.rows[0].bytes_out, 2 * elements);
  EXPECT_DOUBLE_EQ(kernels.rows[2].bytes_in, 2 * elements);
  EXPECT_DOUBLE_EQ(kernels.rows[2].weight_bytes, 2 * 16 * 16 * 9);
  EXPECT_DOUBLE_EQ(kernels.rows[4].bytes_out, 2 * elements);
  EXPECT_DOUBLE_EQ(kernels.rows[5].bytes_out, 4 * elements);
}

TEST(Kernels, SoftmaxLeavesHalfPrecisionUnderAutocast) {
  const Kernels kernels = fuse(attention_block(), "eager", "amp");
  const auto softmax = std::find_if(kernels.rows.begin(), kernels.rows.end(),
                                    [](const Kernel& row) { return row.kind == CostKind::softmax; });
  ASSERT_NE(softmax, kernels.rows.end());
  EXPECT_DOUBLE_EQ(softmax->bytes_out, 4.0 * kBatch * 4 * 32 * 32);
}

TEST(Kernels, SoftmaxAndSumsReadHalfPrecisionUnderAutocastWithoutACopy) {
  for (const OperatorId op : {OperatorId::softmax, OperatorId::reduce_sum, OperatorId::exp}) {
    GraphMaker make;
    const Shape scores{kBatch, 4, 32, 32};
    const TensorId s =
        make.node(OperatorId::matmul, {make.input({kBatch, 4, 32, 16}), make.input({kBatch, 4, 16, 32})}, scores);
    const Kernels kernels = fuse(make.build({make.node(op, {s}, scores)}), "eager", "amp");
    const bool copies = op == OperatorId::exp;
    ASSERT_EQ(kernels.rows.size(), copies ? 5U : 4U);  // casts of both inputs, the product, what follows
    EXPECT_DOUBLE_EQ(kernels.rows.back().bytes_in, (copies ? 4.0 : 2.0) * kBatch * 4 * 32 * 32);
    EXPECT_DOUBLE_EQ(kernels.rows.back().bytes_out, 4.0 * kBatch * 4 * 32 * 32);
  }
}

TEST(Kernels, AParameterWidensUnderAutocastAndANumberDoesNot) {
  GraphMaker make;
  const Shape shape{kBatch, 64};
  const TensorId half = make.node(OperatorId::linear, {make.input(shape), make.weight({64, 64})}, shape);
  const TensorId twice = make.node(OperatorId::mul, {half, make.number(2)}, shape);
  const TensorId scaled = make.node(OperatorId::mul, {twice, make.weight({64})}, shape);
  const Kernels kernels = fuse(make.build({scaled}), "eager", "amp");
  ASSERT_EQ(kernels.rows.size(), 5U);  // two casts and three operators
  EXPECT_DOUBLE_EQ(kernels.rows[3].bytes_out, 2.0 * kBatch * 64);
  EXPECT_DOUBLE_EQ(kernels.rows[4].bytes_out, 4.0 * kBatch * 64);
}

TEST(Kernels, ANormThatTheNetworkTakesOutOfAutocastStaysInHalfPrecision) {
  const Shape shape{kBatch, 64};
  const auto normed = [&](bool is_taken_out) {
    GraphMaker make;
    const TensorId half = make.node(OperatorId::linear, {make.input(shape), make.weight({64, 64})}, shape);
    GraphMaker::Settings settings;
    if (is_taken_out) settings.emplace_back("autocast", std::string("half"));
    const TensorId norm =
        make.node(OperatorId::layer_norm, {half, make.weight({64}), make.weight({64})}, shape, settings);
    return fuse(make.build({make.node(OperatorId::relu, {norm}, shape)}), "eager", "amp");
  };
  // Casts of the input and of the product's weight; then of the norm's input, or of its two weights.
  EXPECT_EQ(kinds(normed(false)), (std::vector{CostKind::cast, CostKind::cast, CostKind::matmul, CostKind::cast,
                                               CostKind::layer_norm, CostKind::unary}));
  EXPECT_EQ(kinds(normed(true)), (std::vector{CostKind::cast, CostKind::cast, CostKind::matmul, CostKind::cast,
                                              CostKind::cast, CostKind::layer_norm, CostKind::unary}));
  EXPECT_DOUBLE_EQ(normed(false).rows[5].bytes_out, 4.0 * kBatch * 64);
  EXPECT_DOUBLE_EQ(normed(true).rows[6].bytes_out, 2.0 * kBatch * 64);
}

// timm's EvoNorm: x * (x * v.to(x.dtype)).sigmoid() / x.float().var(...).sqrt().to(x.dtype).
TEST(Kernels, ConversionsInTheCodeOfANetworkGoByWhatAutocastMakesOfTheirTensors) {
  const Shape image{kBatch, 64};
  const Shape one{kBatch, 1};
  const GraphMaker::Settings second{{"converts", Shape{1}}};
  const GraphMaker::Settings first{{"converts", Shape{0}}};
  GraphMaker make;
  const TensorId x = make.node(OperatorId::linear, {make.input(image), make.weight({64, 64})}, image);
  const TensorId gated = make.node(OperatorId::mul, {x, make.weight({64})}, image, second);
  const TensorId variance = make.node(OperatorId::reduce_mean, {x}, one, first);
  const TensorId deviation = make.node(OperatorId::sqrt, {variance}, one);
  const TensorId spread = make.node(OperatorId::expand, {deviation, make.integers({kBatch, 64})}, image, first);
  const Kernels kernels = fuse(make.build({make.node(OperatorId::div, {gated, spread}, image)}), "eager", "amp");
  // Casts of the input, of the product's weight and of gamma; of the activations for the mean; of the deviation.
  EXPECT_EQ(kinds(kernels),
            (std::vector{CostKind::cast, CostKind::cast, CostKind::matmul, CostKind::cast, CostKind::binary,
                         CostKind::cast, CostKind::reduce, CostKind::unary, CostKind::cast, CostKind::binary}));
  EXPECT_DOUBLE_EQ(kernels.rows[4].bytes_out, 2.0 * kBatch * 64);
  EXPECT_DOUBLE_EQ(kernels.rows[5].bytes_out, 4.0 * kBatch * 64);
  EXPECT_DOUBLE_EQ(kernels.rows[6].bytes_in, 4.0 * kBatch * 64);
  EXPECT_DOUBLE_EQ(kernels.rows[8].bytes_out, 2.0 * kBatch);
  EXPECT_DOUBLE_EQ(kernels.rows[9].bytes_out, 2.0 * kBatch * 64);
}

TEST(Kernels, AConversionOfWhatIsInSinglePrecisionAnywayChangesNothing) {
  const Shape shape{kBatch, 64};
  const auto normed = [&](const GraphMaker::Settings& settings) {
    GraphMaker make;
    const TensorId norm =
        make.node(OperatorId::layer_norm, {make.input(shape), make.weight({64}), make.weight({64})}, shape);
    return fuse(make.build({make.node(OperatorId::relu, {norm}, shape, settings)}), "eager", "amp");
  };
  const Kernels asked = normed({{"converts", Shape{0}}});
  EXPECT_EQ(kinds(asked), kinds(normed({})));
  EXPECT_DOUBLE_EQ(asked.rows.back().bytes_out, 4.0 * kBatch * 64);
}

// Linear attention of EfficientViT: k.float().transpose(-1, -2) @ v.float() where autocast is off.
TEST(Kernels, AProductOfWhatWasConvertedToSinglePrecisionIsOutsideAutocast) {
  const Shape tokens{kBatch, 32, 16};
  const Shape turned{kBatch, 16, 32};
  const Shape square{kBatch, 16, 16};
  const auto product = [&](bool converts, std::string_view precision) {
    const GraphMaker::Settings first = converts ? GraphMaker::Settings{{"converts", Shape{0}}} : GraphMaker::Settings{};
    const GraphMaker::Settings second =
        converts ? GraphMaker::Settings{{"converts", Shape{1}}} : GraphMaker::Settings{};
    GraphMaker make;
    const TensorId x = make.node(OperatorId::linear, {make.input(tokens), make.weight({32, 16})}, {kBatch, 32, 32});
    const std::vector<TensorId> halves =
        make.nodes(OperatorId::split, {x}, {tokens, tokens}, {{"axis", std::int64_t{2}}});
    GraphMaker::Settings permuted = first;
    permuted.emplace_back("perm", Shape{0, 2, 1});
    const TensorId keys = make.node(OperatorId::transpose, {halves[0]}, turned, permuted);
    const TensorId scores = make.node(OperatorId::matmul, {keys, halves[1]}, square, second);
    return fuse(make.build({make.node(OperatorId::relu, {scores}, square)}), "eager", precision);
  };
  const Kernels asked = product(true, "amp");
  // Casts of the input and of the weight, the layer, casts of keys and of values, their product, what reads it.
  ASSERT_EQ(kinds(asked), (std::vector{CostKind::cast, CostKind::cast, CostKind::matmul, CostKind::cast, CostKind::cast,
                                       CostKind::batch_matmul, CostKind::unary}));
  EXPECT_EQ(asked.rows[5].arithmetic, Arithmetic::fp32);
  EXPECT_DOUBLE_EQ(asked.rows[6].bytes_out, 4.0 * kBatch * 16 * 16);
  const Kernels plain = product(false, "amp");
  EXPECT_EQ(plain.rows[3].kind, CostKind::batch_matmul);
  EXPECT_EQ(plain.rows[3].arithmetic, Arithmetic::fp16);
  EXPECT_EQ(kinds(product(true, "fp32")), kinds(product(false, "fp32")));
}

TEST(Kernels, NormsOfVectorsReadHalfPrecisionWithoutACopy) {
  for (const OperatorId op : {OperatorId::reduce_l1, OperatorId::reduce_l2, OperatorId::cum_sum}) {
    GraphMaker make;
    const Shape shape{kBatch, 64};
    const TensorId half = make.node(OperatorId::linear, {make.input(shape), make.weight({64, 64})}, shape);
    const Shape made = op == OperatorId::cum_sum ? shape : Shape{kBatch, 1};
    const Kernels kernels = fuse(make.build({make.node(op, {half}, made)}), "eager", "amp");
    const bool copies = op == OperatorId::cum_sum;
    ASSERT_EQ(kernels.rows.size(), copies ? 5U : 4U);
    EXPECT_DOUBLE_EQ(kernels.rows.back().bytes_in, (copies ? 4.0 : 2.0) * kBatch * 64);
    EXPECT_EQ(kernels.rows.back().arithmetic, Arithmetic::fp32);
  }
}

TEST(Kernels, PyTorchUnfoldsImagesOneByOne) {
  GraphMaker make;
  const TensorId x = make.input({kBatch, 3, 8, 8});
  const Graph graph = make.build({make.node(OperatorId::im2col, {x}, {kBatch, 12, 16},
                                            {{"kernel_shape", Shape{2, 2}}, {"strides", Shape{2, 2}}})});
  const Kernels eager = fuse(graph, "eager", "fp32");
  ASSERT_EQ(eager.rows.size(), 1U);
  EXPECT_EQ(eager.rows[0].repeat, kBatch);
  EXPECT_EQ(eager.num_launches, kBatch);
  EXPECT_DOUBLE_EQ(eager.rows[0].bytes_out, 4.0 * 12 * 16);
  const Kernels compiled = fuse(graph, "compiled", "fp32");
  ASSERT_EQ(compiled.rows.size(), 1U);
  EXPECT_EQ(compiled.rows[0].repeat, 1);
  EXPECT_DOUBLE_EQ(compiled.rows[0].bytes_out, kBatch * eager.rows[0].bytes_out);
}

// [batch, 8, 8, 16] permuted to channels first, as a block of ConvNeXt hands it to its convolution.
TEST(Kernels, APermutedImageKeepsItsChannelsInnermostThroughConvolutionAndNorm) {
  GraphMaker make;
  const TensorId x = make.input({kBatch, 8, 8, 16});
  const Shape image{kBatch, 16, 8, 8};
  const TensorId t = make.node(OperatorId::transpose, {x}, image, {{"perm", Shape{0, 3, 1, 2}}});
  const TensorId c = make.node(OperatorId::conv, {t, make.weight({16, 16, 3, 3})}, image, conv_settings());
  const TensorId r = make.node(OperatorId::relu, {c}, image);
  const TensorId d = make.node(OperatorId::conv, {r, make.weight({16, 1, 3, 3})}, image, conv_settings(16));
  Graph graph = make.build({d});
  EXPECT_FALSE(fuse(graph, "eager", "fp32").rows[0].channels_last);  // no framework's memory format
  graph.program = program_of_pytorch();
  const Kernels kernels = fuse(graph, "eager", "fp32");
  ASSERT_EQ(kernels.rows.size(), 3U);
  EXPECT_TRUE(kernels.rows[0].channels_last);
  EXPECT_TRUE(kernels.rows[2].channels_last);
  EXPECT_DOUBLE_EQ(kernels.rows[2].positions, 64);
}

TEST(Kernels, FiltersOfPyTorchWithTheChannelsInnermostMakeItsImagesSo) {
  Graph graph = residual_block();
  graph.program = program_of_pytorch();
  EXPECT_FALSE(fuse(graph, "eager", "fp32").rows[0].channels_last);
  graph = with_channels_last(std::move(graph));
  EXPECT_TRUE(fuse(graph, "eager", "fp32").rows[0].channels_last);
  EXPECT_FALSE(fuse(graph, "tensorrt", "fp32").rows[0].channels_last);  // lays images out itself
  // Of another framework's file.
  Graph plain = residual_block();
  EXPECT_FALSE(fuse(plain, "eager", "fp32").rows[0].channels_last);
  plain.program = std::make_shared<const Program>();
  EXPECT_TRUE(fuse(with_channels_last(std::move(plain)), "eager", "fp32").rows[0].channels_last);
}

// [batch, tokens, channels] transposed and cut into rows, as CoaT hands its tokens to an interpolation.
TEST(Kernels, TokensSeenAsAnImageHaveTheirChannelsInnermost) {
  GraphMaker make;
  const TensorId tokens = make.input({kBatch, 64, 16});
  const TensorId t = make.node(OperatorId::transpose, {tokens}, {kBatch, 16, 64}, {{"perm", Shape{0, 2, 1}}});
  const TensorId image = make.node(OperatorId::reshape, {t, make.constant({4})}, {kBatch, 16, 8, 8});
  const TensorId y = make.node(OperatorId::resize, {image}, {kBatch, 16, 16, 16}, {{"mode", std::string("linear")}});
  Graph graph = make.build({y});
  graph.program = program_of_pytorch();
  const Kernels kernels = fuse(graph, "eager", "fp32");
  ASSERT_EQ(kernels.rows.size(), 1U);
  EXPECT_TRUE(kernels.rows[0].channels_last);
  EXPECT_TRUE(kernels.rows[0].interpolates);
}

TEST(Kernels, NormsAndReductionsSayHowLongTheirRowsAre) {
  GraphMaker make;
  const TensorId x = make.input({kBatch, 32, 48});
  const TensorId n = make.node(OperatorId::layer_norm, {x, make.weight({48}), make.weight({48})}, {kBatch, 32, 48});
  const TensorId s = make.node(OperatorId::softmax, {n}, {kBatch, 32, 48}, {{"axis", std::int64_t{1}}});
  const TensorId m = make.node(OperatorId::reduce_mean, {s}, {kBatch}, {{"axes", Shape{1, 2}}});
  const TensorId g = make.node(OperatorId::group_norm, {x, make.weight({32}), make.weight({32})}, {kBatch, 32, 48},
                               {{"num_groups", std::int64_t{4}}});
  const TensorId i = make.node(OperatorId::instance_norm, {g, make.weight({32}), make.weight({32})}, {kBatch, 32, 48});
  const Kernels kernels = fuse(make.build({m, i}), "eager", "fp32");
  ASSERT_EQ(kernels.rows.size(), 5U);
  EXPECT_DOUBLE_EQ(kernels.rows[0].row, 48);
  EXPECT_DOUBLE_EQ(kernels.rows[1].row, 32);
  EXPECT_DOUBLE_EQ(kernels.rows[2].row, 32 * 48);
  EXPECT_DOUBLE_EQ(kernels.rows[3].row, 32 / 4 * 48);
  EXPECT_DOUBLE_EQ(kernels.rows[4].row, 48);
}

Kernel attention_kernel(const Shape& heads, const GraphMaker::Settings& settings = {}) {
  GraphMaker make;
  const TensorId q = make.input(heads);
  const TensorId y =
      make.node(OperatorId::scaled_dot_product_attention, {q, make.input(heads), make.input(heads)}, heads, settings);
  Graph graph = make.build({y});
  graph.nodes[0].source_operator = "aten.scaled_dot_product_attention.default";
  return fuse(graph, "eager", "fp16").rows.at(0);
}

TEST(Kernels, CausalityHidesHalfOfTheScores) {
  const Kernel whole = attention_kernel({kBatch, 4, 32, 16});
  const Kernel causal = attention_kernel({kBatch, 4, 32, 16}, {{"is_causal", std::int64_t{1}}});
  EXPECT_DOUBLE_EQ(causal.flops, whole.flops * (1 + 1.0 / 32) / 2);
  EXPECT_DOUBLE_EQ(causal.macs, whole.macs);
}

// A norm written out: what several operators read stays in one generated kernel, and is read and written once.
TEST(Kernels, AGeneratedKernelKeepsWhatSeveralOperatorsRead) {
  GraphMaker make;
  const Shape shape{kBatch, 32, 64};
  const TensorId x = make.node(OperatorId::relu, {make.input(shape)}, shape);
  const TensorId mean = make.node(OperatorId::reduce_mean, {x}, {kBatch, 32, 1}, {{"axes", Shape{2}}});
  const TensorId centred = make.node(OperatorId::sub, {x, mean}, shape);
  const TensorId squares = make.node(OperatorId::mul, {centred, centred}, shape);
  const TensorId variance = make.node(OperatorId::reduce_mean, {squares}, {kBatch, 32, 1}, {{"axes", Shape{2}}});
  const Graph graph = make.build({make.node(OperatorId::mul, {centred, variance}, shape)});
  const Kernels generated = fuse(graph, "compiled", "fp32");
  ASSERT_EQ(generated.rows.size(), 1U);
  const double elements = 4.0 * kBatch * 32 * 64;
  EXPECT_DOUBLE_EQ(generated.rows[0].bytes_in, elements);
  EXPECT_DOUBLE_EQ(generated.rows[0].bytes_out, elements);
  EXPECT_EQ(fuse(graph, "eager", "fp32").rows.size(), 6U);
  EXPECT_GT(fuse(graph, "tensorrt", "fp32").rows.size(), 1U);
}

// Read inside through a reshape alone, and by a product outside: it has to be written for the product.
TEST(Kernels, AGeneratedKernelWritesWhatIsReadOutsideOfIt) {
  GraphMaker make;
  const Shape shape{kBatch, 64};
  const TensorId x = make.node(OperatorId::relu, {make.input(shape)}, shape);
  const TensorId y = make.node(OperatorId::reshape, {x}, {kBatch, 8, 8});
  const TensorId inside = make.node(OperatorId::sigmoid, {y}, {kBatch, 8, 8});
  const double elements = 4.0 * kBatch * 64;
  EXPECT_DOUBLE_EQ(fuse(make.build({inside}), "compiled", "fp32").rows[0].bytes_out, elements);
  const TensorId outside = make.node(OperatorId::linear, {x, make.weight({64, 64})}, shape);
  const Kernels generated = fuse(make.build({inside, outside}), "compiled", "fp32");
  ASSERT_EQ(generated.rows.size(), 2U);
  EXPECT_DOUBLE_EQ(generated.rows[0].bytes_in, elements);
  EXPECT_DOUBLE_EQ(generated.rows[0].bytes_out, 2 * elements);
}

TEST(Kernels, AGeneratedKernelCastsWhatItWrites) {
  GraphMaker make;
  const Shape shape{kBatch, 64};
  const TensorId norm =
      make.node(OperatorId::layer_norm, {make.input(shape), make.weight({64}), make.weight({64})}, shape);
  const Graph graph = make.build({make.node(OperatorId::linear, {norm, make.weight({64, 64})}, shape)});
  const Kernels eager = fuse(graph, "eager", "amp");
  const Kernels generated = fuse(graph, "compiled", "amp");
  EXPECT_EQ(kinds(eager), (std::vector{CostKind::layer_norm, CostKind::cast, CostKind::cast, CostKind::matmul}));
  EXPECT_EQ(kinds(generated), (std::vector{CostKind::layer_norm, CostKind::cast, CostKind::matmul}));  // the weight's
  EXPECT_DOUBLE_EQ(eager.rows[0].bytes_out, 4.0 * kBatch * 64);
  EXPECT_DOUBLE_EQ(generated.rows[0].bytes_out, 2.0 * kBatch * 64);
}

TEST(Kernels, LoopsAreCountedOnceAndRepeated) {
  GraphMaker make;
  const TensorId x = make.input({kBatch, 64});
  const TensorId y = make.node(OperatorId::tanh, {x}, {kBatch, 64});
  make.repeat_last(5);
  const Kernels kernels = fuse(make.build({y}), "eager", "default");
  ASSERT_EQ(kernels.rows.size(), 1U);
  EXPECT_EQ(kernels.rows[0].repeat, 5);
  EXPECT_EQ(kernels.num_launches, 5);
}

TEST(Kernels, AReshapeThatHasToCopyIsAKernelInEagerAndFreeWithoutStrides) {
  GraphMaker make;
  const TensorId x = make.input({kBatch, 12, 197, 64});
  const TensorId t = make.node(OperatorId::transpose, {x}, {kBatch, 197, 12, 64}, {{"perm", Shape{0, 2, 1, 3}}});
  const TensorId r = make.node(OperatorId::reshape, {t, make.constant({3})}, {kBatch, 197, 768});
  const Graph graph = make.build({r});
  const Kernels eager = fuse(graph, "eager", "default");
  ASSERT_EQ(eager.rows.size(), 1U);
  EXPECT_EQ(eager.rows[0].kind, CostKind::copy);
  EXPECT_EQ(eager.rows[0].members, std::vector<NodeId>{1});
  EXPECT_EQ(eager.num_views, 1);
  const Kernels engine = fuse(graph, "tensorrt", "default");
  ASSERT_EQ(engine.rows.size(), 1U);
  EXPECT_EQ(engine.rows[0].members, std::vector<NodeId>{0});
}

TEST(Kernels, ACopyReadsOnceWhatIsRepeated) {
  GraphMaker make;
  const TensorId x = make.node(OperatorId::expand, {make.input({kBatch, 8, 1, 1})}, {kBatch, 8, 4, 32});
  const Graph graph = make.build({make.node(OperatorId::reshape, {x}, {kBatch, 32, 32})});
  const Kernels kernels = fuse(graph, "eager", "fp32");
  ASSERT_EQ(kinds(kernels), std::vector{CostKind::copy});
  EXPECT_DOUBLE_EQ(kernels.rows[0].bytes_in, kBatch * 8 * 4);
  EXPECT_DOUBLE_EQ(kernels.rows[0].bytes_out, kBatch * 8 * 4 * 32 * 4);
}

// relu -> heads side by side, which has to copy -> softmax
TEST(Kernels, ACodeGeneratorMovesThroughAReshapeThatHasToCopy) {
  GraphMaker make;
  const TensorId x = make.node(OperatorId::relu, {make.input({kBatch, 12, 197, 64})}, {kBatch, 12, 197, 64});
  const TensorId t = make.node(OperatorId::transpose, {x}, {kBatch, 197, 12, 64}, {{"perm", Shape{0, 2, 1, 3}}});
  const TensorId r = make.node(OperatorId::reshape, {t, make.constant({3})}, {kBatch, 197, 768});
  const Graph graph = make.build({make.node(OperatorId::softmax, {r}, {kBatch, 197, 768})});
  EXPECT_EQ(kinds(fuse(graph, "eager", "fp32")), (std::vector{CostKind::unary, CostKind::copy, CostKind::softmax}));
  const Kernels kernels = fuse(graph, "compiled", "fp32");
  ASSERT_EQ(kinds(kernels), std::vector{CostKind::softmax});
  const double tensor_bytes = kBatch * 12 * 197 * 64 * 4;
  EXPECT_DOUBLE_EQ(kernels.rows[0].bytes_in, tensor_bytes);
  EXPECT_DOUBLE_EQ(kernels.rows[0].bytes_out, tensor_bytes);
}

TEST(Kernels, ACodeGeneratorComputesPlacesWhereItLooksThemUp) {
  GraphMaker make;
  const TensorId places = make.node(OperatorId::add, {make.input({49, 49}), make.weight({1})}, {49, 49});
  const TensorId table = make.input({13, 64});
  const Graph graph = make.build({make.node(OperatorId::gather, {table, places}, {49, 49, 64})});
  EXPECT_EQ(kinds(fuse(graph, "compiled", "fp32")), std::vector{CostKind::index});
  EXPECT_EQ(fuse(graph, "eager", "fp32").rows.size(), 2U);
}

TEST(Kernels, StepsThatDoNothingAreNoViews) {
  GraphMaker make;
  const TensorId x = make.input({kBatch, 8});
  const TensorId i = make.node(OperatorId::identity, {x}, {kBatch, 8});
  const TensorId d = make.node(OperatorId::dropout, {i}, {kBatch, 8});
  const TensorId y = make.node(OperatorId::relu, {d}, {kBatch, 8});
  EXPECT_EQ(fuse(make.build({y}), "eager", "default").num_views, 0);
}

TEST(Kernels, UnknownOperatorsAreKeptAndNamed) {
  GraphMaker make;
  const TensorId x = make.input({kBatch, 64});
  const TensorId y = make.node(OperatorId::unknown, {x}, {kBatch, 64});
  Graph graph = make.build({y});
  graph.nodes[0].source_operator = "com.acme::Foo";
  const Kernels kernels = fuse(graph, "eager", "default");
  EXPECT_EQ(kernels.unknown_operators, std::vector<std::string>{"com.acme::Foo"});
  EXPECT_GT(kernels.rows.at(0).bytes(), 0);
}

TEST(Kernels, UnknownRuntimeIsAnErrorThatHelps) {
  try {
    (void)fuse(residual_block(), "tensort", "default");
    FAIL() << "accepted";
  } catch (const InvalidArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'tensorrt'"), std::string::npos);
  }
}

}  // namespace
}  // namespace latpred
