#include "readers/paddle/paddle_lowering.h"

namespace latpred::readers {
namespace {

using Numbers = std::vector<std::int64_t>;

void matmul(PaddleLowering& lowering, OperatorId op) {
  const bool trans_x = lowering.integer({"transpose_x", "trans_x", "transpose_X"}, 0) != 0;
  const bool trans_y = lowering.integer({"transpose_y", "trans_y", "transpose_Y"}, 0) != 0;
  const double alpha = lowering.real({"alpha"}, 1);
  std::vector<VariableId> operands{lowering.needed("X", 0), lowering.needed("Y", 1)};
  if (!trans_x && !trans_y && alpha == 1) return lowering.emit(op, std::move(operands), {lowering.output()});
  Attributes attributes = attributes_of({{"transA", std::int64_t{trans_x}}, {"transB", std::int64_t{trans_y}}});
  if (alpha != 1) attributes.set("alpha", alpha);
  lowering.emit(OperatorId::fused_matmul, std::move(operands), {lowering.output()}, std::move(attributes));
}

void plain_matmul(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, {lowering.needed("X", 0), lowering.needed(lowering.op().name == "mv" ? "Vec" : "Y", 1)},
                {lowering.output()});
}

// x seen as a matrix whose rows are its first `columns_from` dimensions, times a matrix; the result keeps them.
void matrix_product(PaddleLowering& lowering, VariableId x, VariableId y, std::int64_t columns_from,
                    VariableId output) {
  const std::int64_t rank = lowering.rank(x);
  if (lowering.rank(y) > 2) lowering.fail("its second operand has more than 2 dimensions, which is not read");
  if (rank > 0 && columns_from == rank - 1) return lowering.emit(OperatorId::matmul, {x, y}, {output});
  const VariableId flat = lowering.make(OperatorId::flatten, {x}, attributes_of({{"axis", columns_from}}));
  if (columns_from == 1) return lowering.emit(OperatorId::matmul, {flat, y}, {output});
  const VariableId result = lowering.make(OperatorId::matmul, {flat, y});
  const VariableId sizes = lowering.make(OperatorId::shape, {x}, attributes_of({{"end", columns_from}}));
  const VariableId target = lowering.make(OperatorId::concat, {sizes, lowering.integers_constant({-1})},
                                          attributes_of({{"axis", std::int64_t{0}}}));
  lowering.emit(OperatorId::reshape, {result, target}, {output});
}

void mul(PaddleLowering& lowering, OperatorId) {
  if (lowering.integer({"y_num_col_dims"}, 1) != 1) lowering.fail("y_num_col_dims other than 1 is not read");
  matrix_product(lowering, lowering.needed("X", 0), lowering.needed("Y", 1), lowering.integer({"x_num_col_dims"}, 1),
                 lowering.output());
}

// Input times weight plus bias, then an activation.
void fully_connected(PaddleLowering& lowering, OperatorId) {
  const std::string activation = lowering.text({"activation_type"}, "");
  const VariableId bias = lowering.input("Bias", 2);
  const VariableId value = lowering.before(activation, lowering.output());
  const VariableId product = bias == kAbsent ? value : lowering.temporary();
  matrix_product(lowering, lowering.needed("Input", 0), lowering.needed("W", 1),
                 lowering.integer({"in_num_col_dims"}, 1), product);
  if (bias != kAbsent) lowering.emit(OperatorId::add, {product, bias}, {value});
  lowering.finish(value, activation, lowering.output());
}

void fused_gemm_epilogue(PaddleLowering& lowering, OperatorId) {
  const std::string activation = lowering.text({"activation"}, "");
  const VariableId value = lowering.before(activation, lowering.output());
  const VariableId product = lowering.make(
      OperatorId::fused_matmul, {lowering.needed("X", 0), lowering.needed("Y", 1)},
      attributes_of({{"transA", lowering.integer({"trans_x"}, 0)}, {"transB", lowering.integer({"trans_y"}, 0)}}));
  lowering.emit(OperatorId::add, {product, lowering.needed("Bias", 2)}, {value});
  lowering.finish(value, activation, lowering.output());
}

// Input [batch, length, 3 * hidden] of a projection that is part of it: weight [hidden, 3, heads, size].
void multihead_matmul(PaddleLowering& lowering, OperatorId) {
  const VariableId x = lowering.needed("Input", 0);
  const VariableId weight = lowering.needed("W", 1);
  const std::int64_t heads = lowering.integer({"head_number"}, 1);
  const VariableId flat_weight =
      lowering.make(OperatorId::flatten, {weight}, attributes_of({{"axis", std::int64_t{1}}}));
  VariableId value = lowering.make(OperatorId::matmul, {x, flat_weight});
  if (const VariableId bias = lowering.input("Bias", 2); bias != kAbsent) {
    const VariableId flat = lowering.make(OperatorId::reshape, {bias}, attributes_of({{"shape", Numbers{-1}}}));
    value = lowering.make(OperatorId::add, {value, flat});
  }
  value = lowering.make(OperatorId::reshape, {value}, attributes_of({{"shape", Numbers{0, 0, 3, heads, -1}}}));
  value = lowering.make(OperatorId::transpose, {value}, attributes_of({{"perm", Numbers{2, 0, 3, 1, 4}}}));
  std::vector<VariableId> operands;
  for (std::int64_t i = 0; i < 3; ++i) {
    operands.push_back(
        lowering.make(OperatorId::select, {value}, attributes_of({{"axis", std::int64_t{0}}, {"index", i}})));
  }
  operands.push_back(lowering.input("BiasQK", 3));
  value = lowering.make(OperatorId::scaled_dot_product_attention, std::move(operands));
  value = lowering.make(OperatorId::transpose, {value}, attributes_of({{"perm", Numbers{0, 2, 1, 3}}}));
  lowering.emit(OperatorId::reshape, {value}, {lowering.output()}, attributes_of({{"shape", Numbers{0, 0, -1}}}));
}

// q, k, v are [batch, length, heads, size].
void flash_attention(PaddleLowering& lowering, OperatorId op) {
  std::vector<VariableId> operands;
  constexpr std::string_view kNames[] = {"q", "k", "v"};
  for (std::size_t i = 0; i < 3; ++i) {
    operands.push_back(lowering.make(OperatorId::transpose, {lowering.needed(kNames[i], i)},
                                     attributes_of({{"perm", Numbers{0, 2, 1, 3}}})));
  }
  const std::size_t mask = lowering.op().name == "flash_attn" ? 4 : 3;
  operands.push_back(lowering.input("attn_mask", mask));
  const VariableId value = lowering.make(op, std::move(operands));
  lowering.emit(OperatorId::transpose, {value}, {lowering.output("out", 0)},
                attributes_of({{"perm", Numbers{0, 2, 1, 3}}}));
}

void addmm(PaddleLowering& lowering, OperatorId op) {
  const VariableId value = lowering.make(op, {lowering.needed("X", 1), lowering.needed("Y", 2)});
  lowering.emit(OperatorId::add, {value, lowering.needed("Input", 0)}, {lowering.output()});
}

void dot(PaddleLowering& lowering, OperatorId op) {
  const VariableId value = lowering.make(OperatorId::mul, {lowering.needed("X", 0), lowering.needed("Y", 1)});
  lowering.emit(op, {value}, {lowering.output()},
                attributes_of({{"axes", Numbers{-1}}, {"keepdims", std::int64_t{0}}}));
}

void einsum(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, lowering.inputs("Operands", 0), {lowering.output()},
                attributes_of({{"equation", lowering.text({"equation"}, "")}}));
}

}  // namespace

const std::vector<PaddleRow>& paddle_product_rows() {
  static const std::vector<PaddleRow> rows{
      {"matmul", kBoth, matmul, OperatorId::matmul},
      {"matmul_v2", kBoth, matmul, OperatorId::matmul},
      {"fused_matmul", kBoth, matmul, OperatorId::matmul},
      {"bmm", kBoth, plain_matmul, OperatorId::matmul},
      {"mv", kBoth, plain_matmul, OperatorId::matmul},
      {"mul", kBoth, mul, OperatorId::matmul},
      {"matmul_with_flatten", kBoth, mul, OperatorId::matmul},
      {"fc", kBoth, fully_connected, OperatorId::matmul},
      {"gemm_epilogue", kBoth, fully_connected, OperatorId::matmul},
      {"fused_gemm_epilogue", kBoth, fused_gemm_epilogue, OperatorId::matmul},
      {"multihead_matmul", kBoth, multihead_matmul, OperatorId::scaled_dot_product_attention},
      {"flash_attn", kBoth, flash_attention, OperatorId::scaled_dot_product_attention},
      {"memory_efficient_attention", kBoth, flash_attention, OperatorId::scaled_dot_product_attention},
      {"addmm", kBoth, addmm, OperatorId::matmul},
      {"baddbmm", kBoth, addmm, OperatorId::matmul},
      {"dot", kBoth, dot, OperatorId::reduce_sum},
      {"einsum", kBoth, einsum, OperatorId::einsum},
  };
  return rows;
}

}  // namespace latpred::readers
