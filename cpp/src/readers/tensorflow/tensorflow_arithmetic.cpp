#include <string>

#include "latpred/text.h"
#include "readers/tensorflow/tensorflow_operators.h"

// Element-wise operators, reductions and products.
namespace latpred::readers::tensorflow {
namespace {

void direct(Node& node) { node.result(row_of(node).op, node.inputs()); }

void sum_of_squares(Node& node) {
  node.result(OperatorId::reduce_sum_square, {node.input(0)}, settings({{"keepdims", std::int64_t{0}}}));
}

void squared(Node& node) { node.result(OperatorId::mul, {node.input(0), node.input(0)}); }

void not_equal(Node& node) {
  const VariableId equal = node.part(OperatorId::equal, {node.input(0), node.input(1)});
  node.result(OperatorId::logical_not, {equal});
}

// ONNX's division truncates: what remains of rounding down is an operator of its own for reals.
void floor_divided(Node& node) {
  const DType dtype = node.dtype("T");
  if (dtype_row(dtype).is_integer) {
    node.result(OperatorId::div, {node.input(0), node.input(1)});
    return;
  }
  const VariableId ratio = node.part(OperatorId::div, {node.input(0), node.input(1)});
  node.result(OperatorId::floor, {ratio});
}

void relu6(Node& node) { node.result(OperatorId::clip, {node.input(0)}, settings({{"min", 0.0}, {"max", 6.0}})); }

void leaky_relu(Node& node) {
  node.result(OperatorId::leaky_relu, {node.input(0)}, settings({{"alpha", node.real("alpha")}}));
}

void last_axis(Node& node) { node.result(row_of(node).op, {node.input(0)}, settings({{"axis", std::int64_t{-1}}})); }

void cast(Node& node) {
  node.result(OperatorId::cast, {node.input(0)}, settings({{"to", static_cast<std::int64_t>(node.dtype("DstT"))}}));
}

void bit_cast(Node& node) {
  node.result(OperatorId::bit_cast, {node.input(0)}, settings({{"to", static_cast<std::int64_t>(node.dtype("type"))}}));
}

// Axes are input 1; none means that nothing is reduced.
void reduce(Node& node) {
  const std::int64_t keeps = node.integer("keep_dims");
  Attributes attributes = settings({{"keepdims", keeps}, {"noop_with_empty_axes", std::int64_t{1}}});
  if (auto axes = node.known(1); axes && !axes->empty()) {
    attributes.set("axes", *axes);
    node.result(row_of(node).op, {node.input(0)}, std::move(attributes));
  } else {
    node.result(row_of(node).op, {node.input(0), node.input(1)}, std::move(attributes));
  }
}

void arg_reduce(Node& node) {
  const std::int64_t axis = node.inputs().size() > 1 ? node.integer_of(1, "axis") : 0;
  node.result(row_of(node).op, {node.input(0)}, settings({{"axis", axis}, {"keepdims", std::int64_t{0}}}));
}

void cumulative(Node& node) { node.result(row_of(node).op, {node.input(0), node.input(1)}); }

void top_k(Node& node) {
  node.result(OperatorId::top_k, {node.input(0), node.input(1)}, settings({{"axis", std::int64_t{-1}}}), 2);
}

void product(Node& node, bool transposes_a, bool transposes_b) {
  Attributes attributes;
  if (transposes_a) attributes.set("transA", std::int64_t{1});
  if (transposes_b) attributes.set("transB", std::int64_t{1});
  const bool is_plain = !transposes_a && !transposes_b;
  node.result(is_plain ? OperatorId::matmul : OperatorId::fused_matmul, {node.input(0), node.input(1)},
              std::move(attributes));
}

void matmul(Node& node) { product(node, node.integer("transpose_a") != 0, node.integer("transpose_b") != 0); }

void batch_matmul(Node& node) { product(node, node.integer("adj_x") != 0, node.integer("adj_y") != 0); }

void einsum(Node& node) {
  node.result(OperatorId::einsum, node.inputs(), settings({{"equation", node.text("equation")}}));
}

void fake_quantize(Node& node) { node.result(OperatorId::clip, {node.input(0)}); }

void loss(Node& node) {
  const VariableId scores = node.part(OperatorId::log_softmax, {node.input(0)}, settings({{"axis", std::int64_t{-1}}}));
  const VariableId weighted = node.part(OperatorId::mul, {scores, node.input(1)});
  node.set_results({node.part(OperatorId::reduce_sum, {weighted},
                              settings({{"axes", std::vector<std::int64_t>{-1}}, {"keepdims", std::int64_t{0}}})),
                    scores});
}

const std::vector<OperatorRow> kArithmetic{
    {"Abs", OperatorId::abs, direct},
    {"Neg", OperatorId::neg, direct},
    {"Sign", OperatorId::sign, direct},
    {"Floor", OperatorId::floor, direct},
    {"Ceil", OperatorId::ceil, direct},
    {"Round", OperatorId::round, direct},
    {"Rint", OperatorId::round, direct},
    {"Sqrt", OperatorId::sqrt, direct},
    {"Rsqrt", OperatorId::rsqrt, direct},
    {"Square", OperatorId::mul, squared},
    {"Reciprocal", OperatorId::reciprocal, direct},
    {"Inv", OperatorId::reciprocal, direct},
    {"Exp", OperatorId::exp, direct},
    {"Expm1", OperatorId::exp, direct},
    {"Log", OperatorId::log, direct},
    {"Log1p", OperatorId::log, direct},
    {"Erf", OperatorId::erf, direct},
    {"Erfc", OperatorId::erf, direct},
    {"Sigmoid", OperatorId::sigmoid, direct},
    {"Tanh", OperatorId::tanh, direct},
    {"Sin", OperatorId::sin, direct},
    {"Cos", OperatorId::cos, direct},
    {"Tan", OperatorId::tan, direct},
    {"Sinh", OperatorId::sinh, direct},
    {"Cosh", OperatorId::cosh, direct},
    {"Asin", OperatorId::asin, direct},
    {"Acos", OperatorId::acos, direct},
    {"Atan", OperatorId::atan, direct},
    {"Asinh", OperatorId::asinh, direct},
    {"Acosh", OperatorId::acosh, direct},
    {"Atanh", OperatorId::atanh, direct},
    {"Atan2", OperatorId::atan2, direct},
    {"IsNan", OperatorId::is_nan, direct},
    {"IsInf", OperatorId::is_inf, direct},
    {"LogicalNot", OperatorId::logical_not, direct},
    {"Invert", OperatorId::bitwise_not, direct},
    {"Relu", OperatorId::relu, direct},
    {"Relu6", OperatorId::clip, relu6},
    {"LeakyRelu", OperatorId::leaky_relu, leaky_relu},
    {"Elu", OperatorId::elu, direct},
    {"Selu", OperatorId::selu, direct},
    {"Softplus", OperatorId::softplus, direct},
    {"Softsign", OperatorId::softsign, direct},
    {"Softmax", OperatorId::softmax, last_axis},
    {"LogSoftmax", OperatorId::log_softmax, last_axis},
    {"L2Loss", OperatorId::reduce_sum_square, sum_of_squares},
    {"Add", OperatorId::add, direct},
    {"AddV2", OperatorId::add, direct},
    {"Sub", OperatorId::sub, direct},
    {"Mul", OperatorId::mul, direct},
    {"MulNoNan", OperatorId::mul, direct},
    {"RealDiv", OperatorId::div, direct},
    {"Div", OperatorId::div, direct},
    {"DivNoNan", OperatorId::div, direct},
    {"Xdivy", OperatorId::div, direct},
    {"TruncateDiv", OperatorId::div, direct},
    {"FloorDiv", OperatorId::div, floor_divided},
    {"FloorMod", OperatorId::mod, direct},
    {"Mod", OperatorId::mod, direct},
    {"Pow", OperatorId::pow, direct},
    {"Maximum", OperatorId::max, direct},
    {"Minimum", OperatorId::min, direct},
    {"SquaredDifference", OperatorId::squared_difference, direct},
    {"AddN", OperatorId::sum, direct},
    {"AccumulateNV2", OperatorId::sum, direct},
    {"LogicalAnd", OperatorId::logical_and, direct},
    {"LogicalOr", OperatorId::logical_or, direct},
    {"BitwiseAnd", OperatorId::bitwise_and, direct},
    {"BitwiseOr", OperatorId::bitwise_or, direct},
    {"BitwiseXor", OperatorId::bitwise_xor, direct},
    {"LeftShift", OperatorId::bit_shift, direct},
    {"RightShift", OperatorId::bit_shift, direct},
    {"Equal", OperatorId::equal, direct},
    {"NotEqual", OperatorId::equal, not_equal},
    {"Greater", OperatorId::greater, direct},
    {"GreaterEqual", OperatorId::greater_or_equal, direct},
    {"Less", OperatorId::less, direct},
    {"LessEqual", OperatorId::less_or_equal, direct},
    {"Select", OperatorId::where, direct},
    {"SelectV2", OperatorId::where, direct},
    {"ClipByValue", OperatorId::clip, direct},
    {"Cast", OperatorId::cast, cast},
    {"Bitcast", OperatorId::bit_cast, bit_cast},
    {"FakeQuantWithMinMaxVars", OperatorId::clip, fake_quantize},
    {"FakeQuantWithMinMaxVarsPerChannel", OperatorId::clip, fake_quantize},
    {"FakeQuantWithMinMaxArgs", OperatorId::clip, fake_quantize},
    {"Mean", OperatorId::reduce_mean, reduce},
    {"Sum", OperatorId::reduce_sum, reduce},
    {"Max", OperatorId::reduce_max, reduce},
    {"Min", OperatorId::reduce_min, reduce},
    {"Prod", OperatorId::reduce_prod, reduce},
    {"All", OperatorId::reduce_all, reduce},
    {"Any", OperatorId::reduce_any, reduce},
    {"EuclideanNorm", OperatorId::reduce_l2, reduce},
    {"ArgMax", OperatorId::arg_max, arg_reduce},
    {"ArgMin", OperatorId::arg_min, arg_reduce},
    {"Cumsum", OperatorId::cum_sum, cumulative},
    {"Cumprod", OperatorId::cum_prod, cumulative},
    {"TopKV2", OperatorId::top_k, top_k},
    {"MatMul", OperatorId::matmul, matmul},
    {"BatchMatMul", OperatorId::matmul, batch_matmul},
    {"BatchMatMulV2", OperatorId::matmul, batch_matmul},
    {"BatchMatMulV3", OperatorId::matmul, batch_matmul},
    {"Einsum", OperatorId::einsum, einsum},
    {"SoftmaxCrossEntropyWithLogits", OperatorId::log_softmax, loss},
};

}  // namespace

const std::vector<OperatorRow>& arithmetic_rows() { return kArithmetic; }

}  // namespace latpred::readers::tensorflow
