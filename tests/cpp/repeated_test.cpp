#include "kernels/repeated.h"

#include <gtest/gtest.h>

#include "graph_maker.h"
#include "latpred/kernel.h"

namespace latpred::testing {
namespace {

constexpr std::int64_t kBatch = 8;
const Shape kTokens{kBatch, 16, 64};
constexpr double kBytes = 4.0 * kBatch * 16 * 64;

TensorId norm(GraphMaker& make, TensorId x) {
  return make.node(OperatorId::layer_norm, {x, make.weight({64}), make.weight({64})}, kTokens);
}

TensorId layer(GraphMaker& make, TensorId x) {
  return make.node(OperatorId::linear, {x, make.weight({64, 64})}, kTokens);
}

// Residual blocks: x + layer(norm(x)).
Kernels residual(int blocks, std::string_view runtime) {
  GraphMaker make;
  TensorId x = make.input(kTokens);
  for (int i = 0; i < blocks; ++i) x = make.node(OperatorId::add, {x, layer(make, norm(make, x))}, kTokens);
  return fuse(make.build({layer(make, norm(make, x))}), runtime, "fp32");
}

std::vector<const Kernel*> norms(const Kernels& kernels) {
  std::vector<const Kernel*> found;
  for (const Kernel& row : kernels.rows) {
    if (row.kind == CostKind::layer_norm) found.push_back(&row);
  }
  return found;
}

TEST(Repeated, AResidualConnectionIsWrittenWhenItIsOfFiveTensors) {
  const Kernels kernels = residual(5, "compiled");
  const auto rows = norms(kernels);
  ASSERT_EQ(rows.size(), 6U);
  for (int i = 0; i < 4; ++i) {
    EXPECT_DOUBLE_EQ(rows[i]->bytes_in, (i + 1) * kBytes);
    EXPECT_DOUBLE_EQ(rows[i]->bytes_out, kBytes);
  }
  EXPECT_DOUBLE_EQ(rows[4]->bytes_in, 5 * kBytes);
  EXPECT_DOUBLE_EQ(rows[4]->bytes_out, 2 * kBytes);  // the sum too
  EXPECT_DOUBLE_EQ(rows[5]->bytes_in, 2 * kBytes);
}

// Mean, deviation, weights and bias of a norm are four tensors beside what it reads.
TEST(Repeated, ANormIsWrittenUnlessItHasNoWeights) {
  const auto bytes_of_norm = [](bool has_weights) {
    GraphMaker make;
    std::vector<TensorId> inputs{make.input(kTokens)};
    if (has_weights) inputs.insert(inputs.end(), {make.weight({64}), make.weight({64})});
    const TensorId x = make.node(OperatorId::layer_norm, inputs, kTokens);
    const TensorId y = layer(make, make.node(OperatorId::exp, {x}, kTokens));
    const TensorId sum = make.node(OperatorId::add, {x, y}, kTokens);
    return norms(fuse(make.build({layer(make, sum)}), "compiled", "fp32")).front()->bytes_out;
  };
  EXPECT_DOUBLE_EQ(bytes_of_norm(true), 2 * kBytes);
  EXPECT_DOUBLE_EQ(bytes_of_norm(false), kBytes);
}

TEST(Repeated, OneReaderThatReadsTwiceSharesWithNobody) {
  GraphMaker make;
  TensorId sum = make.input(kTokens);
  for (int i = 0; i < 5; ++i) sum = make.node(OperatorId::add, {sum, make.input(kTokens)}, kTokens);
  const Kernels kernels = fuse(make.build({make.node(OperatorId::mul, {sum, sum}, kTokens)}), "compiled", "fp32");
  ASSERT_EQ(kernels.rows.size(), 1U);
  EXPECT_DOUBLE_EQ(kernels.rows[0].bytes_out, kBytes);
}

TEST(Repeated, EagerWritesEverySum) {
  const Kernels kernels = residual(3, "eager");
  for (const Kernel* row : norms(kernels)) EXPECT_DOUBLE_EQ(row->bytes_in, kBytes);
}

// What no kernel is left to make is no kernel.
TEST(Repeated, ASumThatBothReadersComputeIsNoKernel) {
  GraphMaker make;
  const TensorId sum = make.node(OperatorId::add, {make.input(kTokens), make.input(kTokens)}, kTokens);
  const auto gate = [&] { return make.node(OperatorId::mul, {sum, layer(make, make.input(kTokens))}, kTokens); };
  const TensorId one = gate();
  const Kernels kernels = fuse(make.build({layer(make, one), layer(make, gate())}), "compiled", "fp32");
  ASSERT_EQ(kernels.rows.size(), 6U);  // four layers and two gates
  for (const Kernel& row : kernels.rows) {
    EXPECT_DOUBLE_EQ(row.bytes_in, row.kind == CostKind::binary ? 3 * kBytes : kBytes);
  }
}

TEST(Repeated, WhatTheCallerOrALibraryReadsIsStored) {
  GraphMaker make;
  const TensorId sum = make.node(OperatorId::add, {make.input(kTokens), make.input(kTokens)}, kTokens);
  const Graph graph = make.build({norm(make, sum), layer(make, sum)});
  const Kernels kernels = fuse(graph, "compiled", "fp32");
  EXPECT_DOUBLE_EQ(kernels.rows[0].bytes_out, 2 * kBytes);
}

}  // namespace
}  // namespace latpred::testing
