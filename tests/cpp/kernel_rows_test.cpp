#include "kernels/kernel_rows.h"

#include <gtest/gtest.h>

namespace latpred::testing {
namespace {

// Tensors by number, one node for each row.
constexpr std::size_t kNumNodes = 3;
constexpr std::size_t kNumTensors = 6;

Node node(std::string name, std::vector<TensorId> inputs, std::vector<TensorId> outputs) {
  return {.name = std::move(name), .inputs = std::move(inputs), .outputs = std::move(outputs)};
}

RowId add(KernelRows& rows, CostKind kind, NodeId position, const Node& node) {
  const RowId row = rows.add({.name = node.name, .kind = kind});
  rows.append(row, position, node);
  return row;
}

TEST(KernelRows, AViewHandsItsRowOnWhereItIsWhole) {
  KernelRows rows(kNumNodes, kNumTensors);
  const RowId row = add(rows, CostKind::unary, 0, node("a", {0}, {1}));
  rows.see_through(2, 1, true);
  rows.see_through(3, 1, false);
  EXPECT_EQ(rows.tail_row(2), row);
  EXPECT_TRUE(rows.is_generated(2));
  EXPECT_EQ(rows.tail_row(3), kNoRow);
  EXPECT_FALSE(rows.is_ready(node("b", {3}, {4}), row - 1));
  EXPECT_TRUE(rows.is_ready(node("b", {3}, {4}), row));
}

TEST(KernelRows, WhatIsClosedIsMadeButNotJoined) {
  KernelRows rows(kNumNodes, kNumTensors);
  const RowId row = rows.add({.name = "result"});
  rows.close(1);
  EXPECT_EQ(rows.tail_row(1), kNoRow);
  EXPECT_FALSE(rows.is_ready(node("a", {1}, {2}), row - 1));
}

TEST(KernelRows, ARowThatIsAbsorbedLeavesItsWorkAndReadsOnce) {
  KernelRows rows(kNumNodes, kNumTensors);
  const RowId first = add(rows, CostKind::unary, 0, node("a", {0}, {1}));
  const RowId second = add(rows, CostKind::unary, 1, node("b", {0}, {2}));
  for (const RowId row : {first, second}) {
    EXPECT_EQ(rows.note_read(row, 0, 8), 0);
    rows[row].bytes_in = rows[row].bytes_out = 8;
  }
  rows.absorb(first, second);
  EXPECT_EQ(rows.tail_row(1), second);
  EXPECT_EQ(rows.note_read(second, 0, 8), 8);
  const std::vector<Kernel> kernels = std::move(rows).take();
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].name, "a+b");
  EXPECT_EQ(kernels[0].members, (std::vector<NodeId>{0, 1}));
  EXPECT_EQ(kernels[0].bytes_in, 8);
  EXPECT_EQ(kernels[0].bytes_out, 16);
}

TEST(KernelRows, WhatIsMovedToTheEndBeginsWithItsBias) {
  KernelRows rows(kNumNodes, kNumTensors);
  rows.add_bias({.name = "a.bias", .kind = CostKind::binary}, 1);
  add(rows, CostKind::matmul, 1, node("b", {0}, {2}));
  const Node both = node("c", {1, 2}, {3});
  ASSERT_FALSE(rows.is_ready(both, rows.tail_row(1)));
  const RowId end = rows.move_to_end(rows.tail_row(1));
  EXPECT_EQ(rows.tail_row(1), end);
  EXPECT_TRUE(rows.is_ready(both, end));
  EXPECT_EQ(rows.bias_of(end), 1);
  EXPECT_FALSE(rows.is_empty(end));
  const std::vector<Kernel> kernels = std::move(rows).take();
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(kernels[0].name, "b");
  EXPECT_EQ(kernels[1].name, "a.bias");
}

}  // namespace
}  // namespace latpred::testing
