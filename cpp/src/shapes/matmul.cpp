#include <algorithm>
#include <string>
#include <utility>

#include "latpred/text.h"
#include "operators/einsum.h"
#include "operators/products.h"
#include "shapes/broadcast.h"
#include "shapes/rules.h"

namespace latpred::shapes {
namespace {

// NumPy's matmul: a vector counts as one row on the left and as one column on the right, and loses that dimension.
Shape product_shape(const RuleContext& context, Shape a, Shape b) {
  if (a.empty() || b.empty()) {
    context.fail(concat("operands need at least one dimension, got ", shape_text(a), " and ", shape_text(b)));
  }
  const bool row_vector = a.size() == 1;
  const bool column_vector = b.size() == 1;
  if (row_vector) a.insert(a.begin(), 1);
  if (column_vector) b.push_back(1);
  const std::int64_t k = a.back();
  if (k != b[b.size() - 2]) {
    context.fail(concat("inner sizes differ: ", shape_text(a), " x ", shape_text(b), " multiplies ", k, " with ",
                        b[b.size() - 2]));
  }
  Shape result = broadcast({a.begin(), a.end() - 2}, {b.begin(), b.end() - 2});
  if (!row_vector) result.push_back(a[a.size() - 2]);
  if (!column_vector) result.push_back(b.back());
  return result;
}

Shape operands_product(const RuleContext& context) {
  const Operands operands = operands_of(context.statement().op);
  return product_shape(context, context.shape(operands.a), context.shape(operands.b));
}

void matmul(RuleContext& context) { context.set_output(0, context.dtype(0), operands_product(context)); }

void matmul_integer(RuleContext& context) { context.set_output(0, DType::int32, operands_product(context)); }

// Inputs a, its scale and zero point, b, its scale and zero point, the output's scale and zero point.
void qlinear_matmul(RuleContext& context) { context.set_output(0, context.dtype(7), operands_product(context)); }

void matmul_to_float(RuleContext& context) { context.set_output(0, context.dtype(2), operands_product(context)); }

void dynamic_quantize_matmul(RuleContext& context) {
  context.set_output(0, context.dtype(0), operands_product(context));
}

// [d0, .., dn, a, b]: transBatch moves the first dimension before the last, trans swaps the last two afterwards.
Shape fused_operand(Shape shape, bool trans_batch, bool trans) {
  if (shape.size() < 2) return shape;
  if (trans_batch) std::rotate(shape.begin(), shape.begin() + 1, shape.end() - 1);
  if (trans) std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return shape;
}

void fused_matmul(RuleContext& context) {
  const auto is_set = [&](std::string_view name) { return context.attributes().integer(name, 0) != 0; };
  context.set_output(0, context.dtype(0),
                     product_shape(context, fused_operand(context.shape(0), is_set("transBatchA"), is_set("transA")),
                                   fused_operand(context.shape(1), is_set("transBatchB"), is_set("transB"))));
}

Shape gemm_shape(const RuleContext& context) {
  const Operands operands = operands_of(context.statement().op);
  const Shape& a = context.shape(operands.a);
  const Shape& b = context.shape(operands.b);
  if (a.size() != 2 || b.size() != 2) {
    context.fail(concat("operands must be matrices, got ", shape_text(a), " and ", shape_text(b)));
  }
  const bool trans_a = context.attributes().integer("transA", 0) != 0;
  const bool trans_b = context.attributes().integer("transB", 0) != 0;
  const std::int64_t k = a[trans_a ? 0 : 1];
  if (k != b[trans_b ? 1 : 0]) {
    context.fail(concat("inner sizes differ: ", shape_text(a), trans_a ? " (transposed)" : "", " x ", shape_text(b),
                        trans_b ? " (transposed)" : "", " multiplies ", k, " with ", b[trans_b ? 1 : 0]));
  }
  Shape result{a[trans_a ? 1 : 0], b[trans_b ? 0 : 1]};
  if (operands.bias && context.has_input(*operands.bias)) {
    const Shape& c = context.shape(*operands.bias);
    if (!broadcasts_to(c, result)) {
      context.fail(concat("C ", shape_text(c), " does not broadcast to the product's ", shape_text(result)));
    }
  }
  return result;
}

void gemm(RuleContext& context) { context.set_output(0, context.dtype(0), gemm_shape(context)); }

// Inputs A, its scale and zero point, B, its scale and zero point, C, the output's scale and zero point; without those
// the output is real.
void qgemm(RuleContext& context) {
  context.set_output(0, context.has_input(8) ? context.dtype(8) : DType::float32, gemm_shape(context));
}

// x [.., K], weight [N, K] (or [K], which drops the dimension), bias [N].
void linear(RuleContext& context) {
  const Shape& x = context.shape(0);
  const Shape& weight = context.shape(1);
  if (x.empty() || weight.empty() || weight.size() > 2 || x.back() != weight.back()) {
    context.fail(
        concat("weight ", shape_text(weight), " must be [out, in] with the input's last size, ", shape_text(x)));
  }
  Shape result(x.begin(), x.end() - 1);
  if (weight.size() == 2) result.push_back(weight[0]);
  if (context.has_input(2) && !broadcasts_to(context.shape(2), result)) {
    context.fail(concat("bias ", shape_text(context.shape(2)), " does not broadcast to ", shape_text(result)));
  }
  context.set_output(0, context.dtype(0), result);
}

// A [.., K] times weights stored in a few bits each; their sizes stand in the attributes N and K.
void matmul_nbits(RuleContext& context) {
  Shape result = context.shape(0);
  const std::int64_t k = context.attributes().integer("K", 0);
  const std::int64_t n = context.attributes().integer("N", 0);
  if (n < 1 || result.empty() || result.back() != k) {
    context.fail(concat("input ", shape_text(result), " must end in K = ", k, " and N = ", n, " must be at least 1"));
  }
  result.back() = n;
  context.set_output(0, context.dtype(0), result);
}

// Rows of `a` in groups, each times the matrix of its group; input 2 says where the groups end. [rows, K] x
// [groups, K, N] -> [rows, N]; where the groups are in K on both sides, one product for each: [groups, M, N].
void grouped_matmul(RuleContext& context) {
  const Shape& a = context.shape(0);
  const Shape& b = context.shape(1);
  if (a.size() < 2 || a.size() > 3 || b.size() < 2 || b.size() > 3 || a.back() != b[b.size() - 2]) {
    context.fail(concat("cannot multiply groups of ", shape_text(a), " and ", shape_text(b)));
  }
  Shape result{a[a.size() - 2], b.back()};
  if (a.size() == b.size()) {
    if (a.size() == 2 && !context.has_input(2)) context.fail("needs the ends of its groups");
    if (a.size() == 3 && a[0] != b[0]) {
      context.fail(concat(shape_text(a), " and ", shape_text(b), " differ in their number of groups"));
    }
    result.insert(result.begin(), a.size() == 2 ? element_count(context.shape(2)) : a[0]);
  }
  context.set_output(0, context.dtype(0), std::move(result));
}

// Distances between all rows of x1 [.., P, M] and x2 [.., R, M]: [.., P, R].
void pairwise_distance(RuleContext& context) {
  const Shape& a = context.shape(0);
  const Shape& b = context.shape(1);
  if (a.size() < 2 || b.size() < 2 || a.back() != b.back()) {
    context.fail(concat("needs rows of one length, got ", shape_text(a), " and ", shape_text(b)));
  }
  Shape result = broadcast({a.begin(), a.end() - 2}, {b.begin(), b.end() - 2});
  result.push_back(a[a.size() - 2]);
  result.push_back(b[b.size() - 2]);
  context.set_output(0, context.dtype(0), std::move(result));
}

void einsum(RuleContext& context) {
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < context.num_inputs(); ++i) shapes.push_back(context.shape(i));
  const Einsum equation = parse_einsum(context.attributes().text("equation", ""), shapes);
  context.set_output(0, context.dtype(0), equation.output_shape());
}

}  // namespace

const std::vector<RuleRow>& matmul_rules() {
  static const std::vector<RuleRow> rows{
      {OperatorId::gemm, gemm},
      {OperatorId::matmul, matmul},
      {OperatorId::matmul_integer, matmul_integer},
      {OperatorId::qlinear_matmul, qlinear_matmul},
      {OperatorId::linear, linear},
      {OperatorId::fused_matmul, fused_matmul},
      {OperatorId::fused_gemm, gemm},
      {OperatorId::matmul_nbits, matmul_nbits},
      {OperatorId::qgemm, qgemm},
      {OperatorId::matmul_integer_to_float, matmul_to_float},
      {OperatorId::dynamic_quantize_matmul, dynamic_quantize_matmul},
      {OperatorId::einsum, einsum},
      {OperatorId::grouped_matmul, grouped_matmul},
      {OperatorId::pairwise_distance, pairwise_distance},
  };
  return rows;
}

}  // namespace latpred::shapes
