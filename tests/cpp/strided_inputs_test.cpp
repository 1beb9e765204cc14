#include "kernels/strided_inputs.h"

#include <gtest/gtest.h>

#include "graph_maker.h"
#include "latpred/kernel.h"
#include "latpred/program.h"
#include "latpred/text.h"

namespace latpred::testing {
namespace {

constexpr std::int64_t kBatch = 8;

Kernels run(Graph graph, bool channels_last = false, std::string_view precision = "amp") {
  Program program;
  program.source.framework = "pytorch";
  program.channels_last = channels_last;
  graph.program = std::make_shared<const Program>(std::move(program));
  return fuse(graph, "eager", precision);
}

std::size_t count(const Kernels& kernels, std::string_view part) {
  std::size_t found = 0;
  for (const Kernel& row : kernels.rows) found += row.name.find(part) != std::string::npos ? 1 : 0;
  return found;
}

TEST(StridedInputs, ABatchThatIsNotOneDimensionIsCopiedForAProduct) {
  EXPECT_FALSE(is_copied_for_product({8, 4, 32, 16}, {2048, 512, 16, 1}));
  EXPECT_FALSE(is_copied_for_product({8, 4, 16, 32}, {2048, 512, 1, 16}));  // transposed: the library reads it so
  EXPECT_TRUE(is_copied_for_product({8, 4, 32, 16}, {6144, 16, 192, 1}));   // heads cut out of one product
  EXPECT_FALSE(is_copied_for_product({8, 1, 32, 16}, {6144, 16, 192, 1}));  // one head
  EXPECT_TRUE(is_copied_for_product({8, 4, 32, 16}, {4096, 1024, 32, 2}));  // every second element
}

TEST(StridedInputs, ANormCopiesWhatWasTransposed) {
  GraphMaker make;
  const TensorId x = make.node(OperatorId::relu, {make.input({kBatch, 64, 32})}, {kBatch, 64, 32});
  const TensorId y = make.node(OperatorId::transpose, {x}, {kBatch, 32, 64}, {{"perm", Shape{0, 2, 1}}});
  const auto norm = [&](TensorId id) {
    return make.node(OperatorId::layer_norm, {id, make.weight({64}), make.weight({64})}, {kBatch, 32, 64});
  };
  const Kernels kernels = run(make.build({norm(y)}));
  ASSERT_EQ(count(kernels, "copy("), 1U);
  EXPECT_EQ(kernels.rows[1].kind, CostKind::copy);
  EXPECT_DOUBLE_EQ(kernels.rows[1].bytes_in, kernels.rows[1].bytes_out);
}

// The tokens of a ViT without a class token lie with the channels outermost: norms read them across, and so does the
// addition of what lies in order.
TEST(StridedInputs, WhatIsReadAgainstMemorysOrderIsToldApart) {
  GraphMaker make;
  const Shape shape{kBatch, 32, 64};
  const TensorId x = make.node(OperatorId::relu, {make.input({kBatch, 64, 32})}, {kBatch, 64, 32});
  const TensorId tokens = make.node(OperatorId::transpose, {x}, shape, {{"perm", Shape{0, 2, 1}}});
  const TensorId scaled = make.node(OperatorId::relu, {tokens}, shape);
  const TensorId norm = make.node(OperatorId::layer_norm, {scaled, make.weight({64}), make.weight({64})}, shape);
  const Kernels kernels = run(make.build({make.node(OperatorId::add, {scaled, norm}, shape)}), false, "fp32");
  ASSERT_EQ(kernels.rows.size(), 5U);
  std::vector<bool> found;
  for (const Kernel& row : kernels.rows) found.push_back(row.reads_across);
  EXPECT_EQ(found, (std::vector{false, false, true, false, true}));  // relu, relu, copy, norm, addition
}

TEST(StridedInputs, ALayerOfStridedInputAddsItsBiasApart) {
  const auto layer = [](bool transposed) {
    GraphMaker make;
    const Shape given = transposed ? Shape{kBatch, 64, 32} : Shape{kBatch, 32, 64};
    TensorId x = make.node(OperatorId::relu, {make.input(given)}, given);
    if (transposed) x = make.node(OperatorId::transpose, {x}, {kBatch, 32, 64}, {{"perm", Shape{0, 2, 1}}});
    return run(
        make.build({make.node(OperatorId::linear, {x, make.weight({16, 64}), make.weight({16})}, {kBatch, 32, 16})}));
  };
  EXPECT_EQ(count(layer(false), ".bias"), 0U);
  EXPECT_EQ(count(layer(true), ".bias"), 1U);
  EXPECT_EQ(count(layer(true), "copy("), 0U);  // a transposed operand is read as it is
}

TEST(StridedInputs, AConvolutionOfALibraryAddsItsBiasApart) {
  const auto convolution = [](std::int64_t groups, bool has_bias) {
    GraphMaker make;
    std::vector<TensorId> inputs{make.input({kBatch, 32, 8, 8}), make.weight({32, 32 / groups, 3, 3})};
    if (has_bias) inputs.push_back(make.weight({32}));
    return make.build({make.node(
        OperatorId::conv, inputs, {kBatch, 32, 8, 8},
        {{"pads", Shape{1, 1, 1, 1}}, {"strides", Shape{1, 1}}, {"kernel_shape", Shape{3, 3}}, {"group", groups}})});
  };
  EXPECT_EQ(count(run(convolution(1, false)), ".bias"), 0U);
  const Kernels kernels = run(convolution(1, true), false, "fp32");
  ASSERT_EQ(count(kernels, ".bias"), 1U);
  const Kernel& bias = kernels.rows.back();
  EXPECT_EQ(bias.kind, CostKind::binary);
  EXPECT_EQ(bias.arithmetic, Arithmetic::fp32);  // the convolution runs in TF32
  EXPECT_DOUBLE_EQ(bias.bytes_in, 4.0 * kBatch * 32 * 8 * 8);
  EXPECT_DOUBLE_EQ(bias.bytes_out, bias.bytes_in);
  EXPECT_EQ(count(run(convolution(32, true)), ".bias"), 0U);        // PyTorch's own kernel
  EXPECT_EQ(count(run(convolution(32, true), true), ".bias"), 1U);  // cuDNN's
  for (const char* runtime : {"tensorrt", "onnxruntime"}) {
    EXPECT_EQ(fuse(convolution(1, true), runtime, "fp16").rows.size(), 1U);
  }
  for (const std::int64_t groups : {1, 32}) {  // Inductor adds it itself
    EXPECT_EQ(count(fuse(convolution(groups, true), "compiled", "fp16"), ".bias"), 1U);
  }
}

// The norm of groups makes its result contiguous; filters in the other format ask for that again.
TEST(StridedInputs, ImagesAreTurnedRoundBetweenChannelsLastFiltersAndGroupNorm) {
  GraphMaker make;
  const Shape image{kBatch, 32, 8, 8};
  const GraphMaker::Settings settings{
      {"kernel_shape", Shape{3, 3}}, {"pads", Shape{1, 1, 1, 1}}, {"strides", Shape{1, 1}}};
  const auto convolve = [&](TensorId id) {
    return make.node(OperatorId::conv, {id, make.weight({32, 32, 3, 3})}, image, settings);
  };
  const TensorId normed =
      make.node(OperatorId::group_norm, {convolve(make.input(image)), make.weight({32}), make.weight({32})}, image);
  const Graph graph = make.build({convolve(normed)});
  EXPECT_EQ(count(run(graph, false), "copy("), 0U);
  EXPECT_EQ(count(run(graph, true), "copy("), 2U);
}

// Some of an image's channels lie with gaps: contiguous in neither format.
TEST(StridedInputs, AConvolutionCopiesTheChannelsThatItReadsOfAnImage) {
  GraphMaker make;
  const GraphMaker::Settings settings{{"kernel_shape", Shape{3, 3}}, {"pads", Shape{1, 1, 1, 1}}};
  const auto convolve = [&](TensorId id, std::int64_t channels) {
    return make.node(OperatorId::conv, {id, make.weight({32, channels, 3, 3})}, {kBatch, 32, 8, 8}, settings);
  };
  const TensorId whole = convolve(make.input({kBatch, 32, 8, 8}), 32);
  const TensorId part = make.node(OperatorId::slice, {whole}, {kBatch, 16, 8, 8},
                                  {{"axes", Shape{1}}, {"starts", Shape{0}}, {"ends", Shape{16}}});
  const Graph graph = make.build({convolve(part, 16)});
  for (const bool channels_last : {false, true}) EXPECT_EQ(count(run(graph, channels_last), "copy("), 1U);
}

}  // namespace
}  // namespace latpred::testing
