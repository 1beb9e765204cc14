#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "graph_maker.h"
#include "latpred/kernel.h"

namespace latpred::testing {
namespace {

constexpr std::int64_t kBatch = 8;

// Queries, keys and values cut out of one product: [batch, windows, tokens, 3, heads, size] seen as five dimensions.
Kernels attend(const Shape& queries, const Shape& keys, std::string_view runtime, std::string_view precision,
               const GraphMaker::Settings& settings = {}) {
  GraphMaker make;
  const TensorId q = make.input(queries);
  const TensorId y =
      make.node(OperatorId::scaled_dot_product_attention, {q, make.input(keys), make.input(keys)}, queries, settings);
  Graph graph = make.build({y});
  graph.nodes[0].source_operator = "aten.scaled_dot_product_attention.default";
  return fuse(graph, runtime, precision);
}

Kernels attend(const Shape& heads, std::string_view runtime, std::string_view precision) {
  return attend(heads, heads, runtime, precision);
}

double macs(const Kernels& kernels) {
  double sum = 0;
  for (const Kernel& row : kernels.rows) sum += row.macs;
  return sum;
}

std::int64_t count(const Kernels& kernels, CostKind kind) {
  return std::count_if(kernels.rows.begin(), kernels.rows.end(), [&](const Kernel& row) { return row.kind == kind; });
}

TEST(ComposedAttention, FourDimensionsAreOneKernel) {
  EXPECT_EQ(attend({kBatch, 4, 32, 16}, "eager", "fp16").rows.size(), 1U);
}

// What torch.profiler lists for five dimensions in half precision.
TEST(ComposedAttention, FiveDimensionsAreSingleOperatorsInFloat32) {
  const Kernels kernels = attend({kBatch, 2, 4, 32, 16}, "eager", "fp16");
  EXPECT_EQ(count(kernels, CostKind::batch_matmul), 2);
  EXPECT_EQ(count(kernels, CostKind::softmax), 1);
  EXPECT_EQ(count(kernels, CostKind::cast), 5);  // three operands, the weights, the result
  for (const Kernel& row : kernels.rows) EXPECT_EQ(row.arithmetic, Arithmetic::fp32) << row.name;
  EXPECT_DOUBLE_EQ(macs(kernels), 2.0 * kBatch * 2 * 4 * 32 * 32 * 16);
  const double operand = 4.0 * kBatch * 2 * 4 * 32 * 16;
  EXPECT_DOUBLE_EQ(kernels.rows[0].bytes_in, operand / 2);
  EXPECT_DOUBLE_EQ(kernels.rows[0].bytes_out, operand);
}

// As in MobileNetV4's attention, whose heads share one key and value; grouped queries have a kernel of their own.
TEST(ComposedAttention, SharedHeadsAreWrittenOutForEach) {
  const Shape queries{kBatch, 4, 32, 16};
  const Shape shared{kBatch, 1, 8, 16};
  const Kernels kernels = attend(queries, shared, "eager", "fp16");
  EXPECT_EQ(count(kernels, CostKind::batch_matmul), 2);
  EXPECT_DOUBLE_EQ(macs(kernels), 2.0 * kBatch * 4 * 32 * 8 * 16);
  const double key = 4.0 * kBatch * 8 * 16;
  std::vector<const Kernel*> copies;
  for (const Kernel& row : kernels.rows) {
    if (row.kind == CostKind::copy) copies.push_back(&row);
  }
  ASSERT_EQ(copies.size(), 2U);  // of the key and of the value
  for (const Kernel* copy : copies) {
    EXPECT_DOUBLE_EQ(copy->bytes_in, key);
    EXPECT_DOUBLE_EQ(copy->bytes_out, 4 * key);
  }
  const double scores = 4.0 * kBatch * 4 * 32 * 8;
  const auto product = std::ranges::find(kernels.rows, CostKind::batch_matmul, &Kernel::kind);
  EXPECT_DOUBLE_EQ(product->bytes_in, 4.0 * kBatch * 4 * 32 * 16 + 4 * key);
  EXPECT_DOUBLE_EQ(product->bytes_out, scores);
  EXPECT_EQ(attend(queries, shared, "eager", "fp16", {{"enable_gqa", std::int64_t{1}}}).rows.size(), 1U);
}

TEST(ComposedAttention, Float32NeedsNoCasts) {
  EXPECT_EQ(count(attend({kBatch, 2, 4, 32, 16}, "eager", "fp32"), CostKind::cast), 0);
}

TEST(ComposedAttention, ACodeGeneratorKeepsThePointWiseStepsTogether) {
  const Kernels eager = attend({kBatch, 2, 4, 32, 16}, "eager", "fp16");
  const Kernels compiled = attend({kBatch, 2, 4, 32, 16}, "compiled", "fp16");
  EXPECT_LT(compiled.rows.size(), eager.rows.size());
  EXPECT_DOUBLE_EQ(macs(compiled), macs(eager));
}

TEST(ComposedAttention, OneRowStandsForTheNode) {
  const Kernels kernels = attend({kBatch, 2, 4, 32, 16}, "eager", "fp16");
  const auto has_member = [](const Kernel& row) { return !row.members.empty(); };
  EXPECT_EQ(std::count_if(kernels.rows.begin(), kernels.rows.end(), has_member), 1);
}

}  // namespace
}  // namespace latpred::testing
