#include "kernels/inductor_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graph_maker.h"
#include "latpred/kernel.h"
#include "latpred/program.h"

namespace latpred::testing {
namespace {

constexpr std::int64_t kBatch = 8;

Kernels run(Graph graph, std::string_view precision = "fp16") {
  Program program;
  program.source.framework = "pytorch";
  graph.program = std::make_shared<const Program>(std::move(program));
  return fuse(graph, "compiled", precision);
}

std::size_t count(const Kernels& kernels, std::string_view part) {
  std::size_t found = 0;
  for (const Kernel& row : kernels.rows) found += row.name.find(part) != std::string::npos ? 1 : 0;
  return found;
}

TensorId convolve(GraphMaker& make, TensorId x, std::vector<TensorId> more = {}) {
  std::vector<TensorId> inputs{x, make.weight({32, 32, 3, 3})};
  inputs.insert(inputs.end(), more.begin(), more.end());
  return make.node(OperatorId::conv, inputs, {kBatch, 32, 8, 8},
                   {{"kernel_shape", Shape{3, 3}}, {"pads", Shape{1, 1, 1, 1}}, {"strides", Shape{1, 1}}});
}

TEST(InductorPlan, ABiasIsAddedByTheKernelBehindItOrByOneOfItsOwn) {
  GraphMaker make;
  const TensorId x = convolve(make, make.input({kBatch, 32, 8, 8}), {make.weight({32})});
  const TensorId y = convolve(make, make.node(OperatorId::relu, {x}, {kBatch, 32, 8, 8}), {make.weight({32})});
  const Kernels kernels = run(make.build({y}));
  ASSERT_EQ(kernels.rows.size(), 4U);
  EXPECT_EQ(kernels.rows[1].name, "conv_0.bias+relu_1");
  EXPECT_DOUBLE_EQ(kernels.rows[1].bytes_in, kernels.rows[1].bytes_out);
  EXPECT_TRUE(kernels.rows[3].name.ends_with(".bias"));
}

// It is cast by what adds it, be that one kernel or each that reads what the convolution made.
TEST(InductorPlan, ABiasThatGeneratedKernelsAddHasNoKernelForItsCast) {
  for (const int readers : {1, 2}) {
    GraphMaker make;
    const Shape image{kBatch, 32, 8, 8};
    const TensorId x = convolve(make, make.input(image), {make.weight({32})});
    std::vector<TensorId> results;
    for (int i = 0; i < readers; ++i) results.push_back(convolve(make, make.node(OperatorId::relu, {x}, image)));
    const Kernels kernels = run(make.build(results), "amp");
    EXPECT_EQ(count(kernels, "cast("), 2U + readers);  // the image and the weights of the convolutions
  }
}

// Inductor hands over some of an image's channels as they lie, and the call that it makes copies them; it copies rows
// that were turned into channels itself.
TEST(InductorPlan, AConvolutionCopiesWhatIsNotChannelsLast) {
  GraphMaker make;
  const TensorId x = convolve(make, make.input({kBatch, 32, 8, 8}));
  const TensorId half = make.node(OperatorId::slice, {x}, {kBatch, 16, 8, 8});
  const TensorId y = make.node(OperatorId::conv, {half, make.weight({32, 16, 1, 1})}, {kBatch, 32, 8, 8},
                               {{"kernel_shape", Shape{1, 1}}, {"strides", Shape{1, 1}}});
  EXPECT_EQ(count(run(make.build({y})), "copy("), 1U);

  GraphMaker turned;
  const TensorId from = convolve(turned, turned.input({kBatch, 32, 8, 8}));
  const TensorId rows = turned.node(OperatorId::transpose, {from}, {kBatch, 8, 32, 8}, {{"perm", Shape{0, 2, 1, 3}}});
  const TensorId z = turned.node(OperatorId::conv, {rows, turned.weight({32, 8, 1, 1})}, {kBatch, 32, 32, 8},
                                 {{"kernel_shape", Shape{1, 1}}, {"strides", Shape{1, 1}}});
  EXPECT_EQ(count(run(turned.build({z})), "copy("), 1U);
}

// Heads cut out of one product are copied for the next one, unless a generated kernel writes them as they are read.
TEST(InductorPlan, AProductCopiesHeadsThatALibraryMade) {
  const auto products = [](bool scales) {
    GraphMaker make;
    const auto heads = [&](TensorId id) {
      return make.node(OperatorId::transpose, {id}, {kBatch, 4, 16, 8}, {{"perm", Shape{0, 2, 1, 3}}});
    };
    TensorId query =
        make.node(OperatorId::linear, {make.input({kBatch, 16, 32}), make.weight({32, 32})}, {kBatch, 16, 32});
    query = heads(make.node(OperatorId::reshape, {query}, {kBatch, 16, 4, 8}));
    if (scales) query = make.node(OperatorId::sigmoid, {query}, {kBatch, 4, 16, 8});
    return run(
        make.build({make.node(OperatorId::matmul, {query, make.input({kBatch, 4, 8, 16})}, {kBatch, 4, 16, 16})}));
  };
  EXPECT_EQ(count(products(false), "copy("), 1U);
  EXPECT_EQ(count(products(true), "copy("), 0U);
}

TEST(InductorPlan, GroupNormsReadTwice) {
  GraphMaker make;
  const TensorId x = convolve(make, make.input({kBatch, 32, 8, 8}));
  const TensorId y = make.node(OperatorId::group_norm, {x, make.weight({32}), make.weight({32})}, {kBatch, 32, 8, 8},
                               {{"num_groups", 4}});
  const Kernels kernels = run(make.build({y}));
  ASSERT_EQ(count(kernels, ".statistics"), 1U);
  EXPECT_EQ(kernels.rows.back().kind, CostKind::reduce);
  EXPECT_DOUBLE_EQ(kernels.rows.back().bytes_in, kernels.rows[1].bytes_in);
}

// tokens made of an image -> norm; half of the channels of tokens -> norm
TEST(InductorPlan, NormsOfTensorsInAnotherOrderReadTwice) {
  GraphMaker make;
  const Shape size{kBatch, 64, 32};
  const TensorId weight = make.weight({32});
  const TensorId tokens =
      make.node(OperatorId::transpose, {make.input({kBatch, 32, 64})}, size, {{"perm", Shape{0, 2, 1}}});
  const TensorId half = make.node(OperatorId::slice, {make.input({kBatch, 64, 64})}, size);
  const TensorId sorted_anew = make.node(OperatorId::layer_norm, {tokens, weight, weight}, size);
  const TensorId with_gaps = make.node(OperatorId::layer_norm, {half, weight, weight}, size);
  const Kernels kernels = run(make.build({sorted_anew, with_gaps}));
  EXPECT_EQ(count(kernels, "layer_norm_2.statistics"), 1U);
  EXPECT_EQ(count(kernels, ".statistics"), 1U);
}

// silu(w1 x) * (w2 x), as language models gate their layers
TEST(InductorPlan, AnActivationWaitsForTheLibraryWhoseResultItGates) {
  GraphMaker make;
  const Shape size{kBatch, 16, 64};
  const TensorId x = make.input(size);
  const auto layer = [&](TensorId from) { return make.node(OperatorId::linear, {from, make.weight({64, 64})}, size); };
  const TensorId gate = make.node(OperatorId::silu, {layer(x)}, size);
  const Kernels kernels = run(make.build({layer(make.node(OperatorId::mul, {gate, layer(x)}, size))}));
  EXPECT_EQ(count(kernels, "silu"), 1U);
  const auto row = std::ranges::find(kernels.rows, CostKind::unary, &Kernel::kind);
  ASSERT_NE(row, kernels.rows.end());
  EXPECT_EQ(row->members.size(), 2U);
  EXPECT_DOUBLE_EQ(row->bytes_in, 2 * row->bytes_out);
  EXPECT_EQ(row + 2, kernels.rows.end());  // behind the second layer
}

TEST(InductorPlan, ALongConcatenationOfWhatIsWrittenToItsPlaceIsNoKernel) {
  GraphMaker make;
  const Shape part{kBatch, 4, 8, 8};
  std::vector<TensorId> parts;
  for (int i = 0; i < 9; ++i) parts.push_back(make.node(OperatorId::exp, {make.input(part)}, part));
  const TensorId all = make.node(OperatorId::concat, parts, {kBatch, 36, 8, 8}, {{"axis", std::int64_t{1}}});
  EXPECT_EQ(run(make.build({all})).rows.size(), 9U);
}

TEST(InductorPlan, AGeneratedKernelSaysThatItConcatenates) {
  GraphMaker make;
  const Shape both{kBatch, 64, 8, 8};
  const TensorId x = convolve(make, make.input({kBatch, 32, 8, 8}));
  const TensorId parts = make.node(OperatorId::concat, {x, convolve(make, x)}, both, {{"axis", std::int64_t{1}}});
  const auto concatenating = [](const Kernels& kernels) {
    return std::count_if(kernels.rows.begin(), kernels.rows.end(), [](const Kernel& row) { return row.concatenates; });
  };
  const Graph graph = make.build({make.node(OperatorId::relu, {parts}, both)});
  EXPECT_EQ(concatenating(run(graph)), 1);
  EXPECT_EQ(concatenating(fuse(graph, "eager", "fp16")), 0);
}

}  // namespace
}  // namespace latpred::testing
