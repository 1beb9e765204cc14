#include "operators/products.h"

#include <algorithm>
#include <numeric>

#include "operators/attention_sizes.h"
#include "operators/einsum.h"
#include "operators/layout.h"
#include "operators/recurrent_sizes.h"

namespace latpred {
namespace {

using Products = std::vector<Gemm> (*)(const Graph&, const Node&);

double as_double(std::int64_t value) { return static_cast<double>(value); }

std::int64_t product(Shape::const_iterator first, Shape::const_iterator last) {
  return std::accumulate(first, last, std::int64_t{1}, std::multiplies<>());
}

struct OperandsRow {
  OperatorId op;
  Operands operands;
};

constexpr OperandsRow kOperands[] = {
    {OperatorId::conv, {0, 1, 2}},
    {OperatorId::conv_transpose, {0, 1, 2}},
    {OperatorId::qlinear_conv, {0, 3, 8}},
    {OperatorId::deform_conv, {0, 1, 3}},
    {OperatorId::fused_conv, {0, 1, 2}},
    {OperatorId::causal_conv_with_state, {0, 1, 2}},
    {OperatorId::gemm, {0, 1, 2}},
    {OperatorId::linear, {0, 1, 2}},
    {OperatorId::fused_gemm, {0, 1, 2}},
    {OperatorId::qlinear_matmul, {0, 3, {}}},
    {OperatorId::qgemm, {0, 3, 6}},
    {OperatorId::matmul_nbits, {0, 1, 5}},
    {OperatorId::matmul_integer_to_float, {0, 1, 6}},
    {OperatorId::dynamic_quantize_matmul, {0, 1, 4}},
};

// Per group [positions, Cin / g * window] x [Cin / g * window, Cout / g]. A transposed one spreads every input position
// over the window: [positions, Cin / g] x [Cin / g, Cout / g * window].
std::vector<Gemm> convolution(const Graph& graph, const Node& node) {
  const auto conv = convolution_of(graph, node);
  if (!conv) return {};
  Gemm gemm{as_double(conv->groups), as_double(conv->positions), as_double(conv->out_channels / conv->groups),
            as_double(conv->in_channels / conv->groups)};
  (conv->is_transposed ? gemm.n : gemm.k) *= as_double(conv->window_elements());
  return {gemm};
}

// [M, K] x [K, N], either side stored the other way round.
std::vector<Gemm> gemm(const Graph& graph, const Node& node) {
  const Operands operands = operands_of(node.op);
  const Tensor* a = input_tensor(graph, node, operands.a);
  const Tensor* b = input_tensor(graph, node, operands.b);
  if (a == nullptr || b == nullptr || a->shape.size() != 2 || b->shape.size() != 2) return {};
  const bool trans_a = node.attributes.integer("transA", 0) != 0;
  const bool trans_b = node.attributes.integer("transB", 0) != 0;
  return {{1, as_double(a->shape[trans_a ? 1 : 0]), as_double(b->shape[trans_b ? 0 : 1]),
           as_double(a->shape[trans_a ? 0 : 1])}};
}

// A second operand that all matrices of the first share (a weight) makes one tall product.
Gemm matmul_gemm(const Shape& a, const Shape& b, bool trans_a, bool trans_b) {
  Gemm result{1, 1, 1, as_double(a[a.size() - (trans_a && a.size() > 1 ? 2 : 1)])};
  if (a.size() > 1) result.m = as_double(a[a.size() - (trans_a ? 1 : 2)]);
  if (b.size() > 1) result.n = as_double(b[b.size() - (trans_b ? 2 : 1)]);
  const std::size_t a_batch = a.size() > 2 ? a.size() - 2 : 0;
  const std::size_t b_batch = b.size() > 2 ? b.size() - 2 : 0;
  double batch = 1;
  for (std::size_t back = 1; back <= std::max(a_batch, b_batch); ++back) {
    const std::int64_t left = back <= a_batch ? a[a_batch - back] : 1;
    const std::int64_t right = back <= b_batch ? b[b_batch - back] : 1;
    batch *= as_double(left == 1 ? right : left);
  }
  const bool is_shared = product(b.begin(), b.begin() + static_cast<std::ptrdiff_t>(b_batch)) == 1;
  (is_shared && !trans_a ? result.m : result.batch) *= batch;
  return result;
}

std::vector<Gemm> matmul(const Graph& graph, const Node& node) {
  const Operands operands = operands_of(node.op);
  const Tensor* a = input_tensor(graph, node, operands.a);
  const Tensor* b = input_tensor(graph, node, operands.b);
  if (a == nullptr || b == nullptr || a->shape.empty() || b->shape.empty()) return {};
  // transBatchA and transBatchB put the batch between the matrix dimensions: only the output tells its size then.
  const bool batch_inside =
      node.attributes.integer("transBatchA", 0) != 0 || node.attributes.integer("transBatchB", 0) != 0;
  if (batch_inside) {
    const Tensor* out = output_tensor(graph, node, 0);
    if (out == nullptr || out->shape.size() < 2) return {};
    const double m = as_double(out->shape[out->shape.size() - 2]);
    const double n = as_double(out->shape.back());
    const double elements = as_double(out->num_elements());
    const double batch = m * n > 0 ? elements / (m * n) : 0;
    const double k = batch * m > 0 ? as_double(a->num_elements()) / (batch * m) : 0;
    return {{batch, m, n, k}};
  }
  return {matmul_gemm(a->shape, b->shape, node.attributes.integer("transA", 0) != 0,
                      node.attributes.integer("transB", 0) != 0)};
}

// x [.., K] times weight [N, K].
std::vector<Gemm> linear(const Graph& graph, const Node& node) {
  const Tensor* x = input_tensor(graph, node, 0);
  const Tensor* weight = input_tensor(graph, node, 1);
  if (x == nullptr || weight == nullptr || x->shape.empty() || weight->shape.empty()) return {};
  const std::int64_t n = weight->shape.size() > 1 ? weight->shape[0] : 1;
  return {{1, as_double(product(x->shape.begin(), x->shape.end() - 1)), as_double(n), as_double(x->shape.back())}};
}

std::vector<Gemm> matmul_nbits(const Graph& graph, const Node& node) {
  const Tensor* a = input_tensor(graph, node, 0);
  if (a == nullptr || a->shape.empty()) return {};
  return {{1, as_double(product(a->shape.begin(), a->shape.end() - 1)), as_double(node.attributes.integer("N", 0)),
           as_double(node.attributes.integer("K", 0))}};
}

std::vector<Gemm> einsum(const Graph& graph, const Node& node) {
  std::vector<Shape> shapes;
  for (const Shape* shape : input_shapes(graph, node)) {
    if (shape != nullptr) shapes.push_back(*shape);
  }
  return parse_einsum(node.attributes.text("equation", ""), shapes).products();
}

// Every row of [rows, K] with the matrix [K, N] of its group; or a product of its own for each group.
std::vector<Gemm> grouped_matmul(const Graph& graph, const Node& node) {
  const Tensor* a = input_tensor(graph, node, 0);
  const Tensor* b = input_tensor(graph, node, 1);
  if (a == nullptr || b == nullptr || a->shape.size() < 2 || b->shape.size() < 2) return {};
  const double rows = as_double(a->shape[a->shape.size() - 2]);
  const double n = as_double(b->shape.back());
  const double k = as_double(a->shape.back());
  if (a->shape.size() == 3 && b->shape.size() == 3) return {{as_double(a->shape[0]), rows, n, k}};
  const Tensor* ends = input_tensor(graph, node, 2);
  const double groups = std::max(1.0, ends == nullptr ? 1.0 : as_double(ends->num_elements()));
  if (b->shape.size() == 3) return {{groups, rows / groups, n, k}};  // as many rows in each, on average
  if (a->shape.size() == 3) return {{groups, rows, n / groups, k}};
  return {{groups, rows, n, k / groups}};
}

// The products of all rows with all rows that distances are made of.
std::vector<Gemm> pairwise_distance(const Graph& graph, const Node& node) {
  const Tensor* y = output_tensor(graph, node, 0);
  const Tensor* a = input_tensor(graph, node, 0);
  if (y == nullptr || a == nullptr || y->shape.size() < 2 || a->shape.empty()) return {};
  return {{as_double(product(y->shape.begin(), y->shape.end() - 2)), as_double(y->shape[y->shape.size() - 2]),
           as_double(y->shape.back()), as_double(a->shape.back())}};
}

// Scores [q, size] x [size, kv] and values [q, kv] x [kv, value size] of every head, then the projection.
std::vector<Gemm> attention(const Graph& graph, const Node& node) {
  AttentionSizes sizes = attention_sizes(node.op, node.source_operator, node.attributes, input_shapes(graph, node));
  const Tensor* present = output_tensor(graph, node, 1);
  if (node.op == OperatorId::group_query_attention && present != nullptr && present->shape.size() == 4) {
    sizes.past_length = std::max<std::int64_t>(0, present->shape[2] - sizes.new_length);
  }
  const double heads = as_double(sizes.batch) * as_double(sizes.q_heads);
  const double q_length = as_double(sizes.q_length);
  const double kv_length = as_double(sizes.attended_length());
  std::vector<Gemm> result{{heads, q_length, kv_length, as_double(sizes.head_size)},
                           {heads, q_length, as_double(sizes.value_size), kv_length}};
  if (sizes.projection.batch > 0) result.push_back(sizes.projection);
  return result;
}

// Each step reads the state once for the query and adds one outer product of key and value; the delta rules read it
// for the key too.
std::vector<Gemm> linear_attention(const Graph& graph, const Node& node) {
  const AttentionSizes sizes =
      attention_sizes(node.op, node.source_operator, node.attributes, input_shapes(graph, node));
  const double steps = as_double(sizes.batch) * as_double(sizes.q_length);
  const double head_size = as_double(sizes.head_size);
  const double value_size = as_double(sizes.value_size);
  const Gemm read{steps * as_double(sizes.q_heads), 1, value_size, head_size};
  const Gemm update{steps * as_double(sizes.kv_heads), head_size, value_size, 1};
  const Gemm predict{steps * as_double(sizes.kv_heads), 1, value_size, head_size};
  if (node.attributes.text("update_rule", "gated_delta").ends_with("delta")) return {read, update, predict};
  return {read, update};
}

// Every step and direction on its own, input and state side by side: [batch, input + hidden] x [.., gates * hidden].
std::vector<Gemm> recurrent(const Graph& graph, const Node& node) {
  const RecurrentSizes sizes = recurrent_sizes(node.op, node.attributes, input_shapes(graph, node));
  return {{as_double(sizes.length * sizes.directions), as_double(sizes.batch), as_double(sizes.gates * sizes.hidden),
           as_double(sizes.input + sizes.hidden)}};
}

// Classical models keep their weights in attributes: a row of them for each class, target or support vector.
std::vector<Gemm> stored_rows(const Graph& graph, const Node& node) {
  const Tensor* x = input_tensor(graph, node, 0);
  if (x == nullptr || x->shape.empty() || x->num_elements() == 0) return {};
  const bool has_vectors = !node.attributes.reals("support_vectors").empty();
  const auto weights = std::ssize(node.attributes.reals(has_vectors ? "support_vectors" : "coefficients"));
  const std::int64_t features = x->shape.back();
  return {{1, as_double(x->num_elements() / features), as_double(weights / features), as_double(features)}};
}

struct ProductsRow {
  OperatorId op;
  Products products;
};

constexpr ProductsRow kProducts[] = {
    {OperatorId::conv, convolution},
    {OperatorId::conv_transpose, convolution},
    {OperatorId::conv_integer, convolution},
    {OperatorId::qlinear_conv, convolution},
    {OperatorId::deform_conv, convolution},
    {OperatorId::fused_conv, convolution},
    {OperatorId::causal_conv_with_state, convolution},
    {OperatorId::gemm, gemm},
    {OperatorId::fused_gemm, gemm},
    {OperatorId::qgemm, gemm},
    {OperatorId::matmul, matmul},
    {OperatorId::matmul_integer, matmul},
    {OperatorId::qlinear_matmul, matmul},
    {OperatorId::fused_matmul, matmul},
    {OperatorId::matmul_integer_to_float, matmul},
    {OperatorId::dynamic_quantize_matmul, matmul},
    {OperatorId::linear, linear},
    {OperatorId::matmul_nbits, matmul_nbits},
    {OperatorId::einsum, einsum},
    {OperatorId::grouped_matmul, grouped_matmul},
    {OperatorId::pairwise_distance, pairwise_distance},
    {OperatorId::attention, attention},
    {OperatorId::multi_head_attention, attention},
    {OperatorId::group_query_attention, attention},
    {OperatorId::packed_attention, attention},
    {OperatorId::qattention, attention},
    {OperatorId::flex_attention, attention},
    {OperatorId::scaled_dot_product_attention, attention},
    {OperatorId::linear_attention, linear_attention},
    {OperatorId::lstm, recurrent},
    {OperatorId::gru, recurrent},
    {OperatorId::rnn, recurrent},
    {OperatorId::linear_classifier, stored_rows},
    {OperatorId::linear_regressor, stored_rows},
    {OperatorId::svm_classifier, stored_rows},
    {OperatorId::svm_regressor, stored_rows},
};

}  // namespace

Operands operands_of(OperatorId op) {
  const auto row = std::find_if(std::begin(kOperands), std::end(kOperands), [op](const auto& r) { return r.op == op; });
  return row != std::end(kOperands) ? row->operands : Operands{};
}

const Tensor* input_tensor(const Graph& graph, const Node& node, std::size_t index) {
  return index < node.inputs.size() && node.inputs[index] != kAbsent ? &graph.tensors[node.inputs[index]] : nullptr;
}

const Tensor* output_tensor(const Graph& graph, const Node& node, std::size_t index) {
  return index < node.outputs.size() && node.outputs[index] != kAbsent ? &graph.tensors[node.outputs[index]] : nullptr;
}

std::vector<const Shape*> input_shapes(const Graph& graph, const Node& node) {
  std::vector<const Shape*> shapes;
  for (const TensorId id : node.inputs) shapes.push_back(id == kAbsent ? nullptr : &graph.tensors[id].shape);
  return shapes;
}

std::int64_t Convolution::window_elements() const { return product(window.begin(), window.end()); }

std::optional<Convolution> convolution_of(const Graph& graph, const Node& node) {
  if (operator_row(node.op).kind != CostKind::conv) return std::nullopt;
  const Operands operands = operands_of(node.op);
  const Tensor* x = input_tensor(graph, node, operands.a);
  const Tensor* weight = input_tensor(graph, node, operands.b);
  const Tensor* y = output_tensor(graph, node, 0);
  if (x == nullptr || weight == nullptr || y == nullptr) return std::nullopt;
  if (x->shape.size() < 3 || weight->shape.size() != x->shape.size() || y->shape.size() != x->shape.size()) {
    return std::nullopt;
  }
  const std::size_t channels = channel_axis(node.attributes, x->shape.size());
  Convolution conv{.groups = node.attributes.integer("group", 1),
                   .in_channels = x->shape[channels],
                   .out_channels = y->shape[channels],
                   .window = filter_of(node.op, node.attributes, weight->shape).window};
  if (node.op == OperatorId::causal_conv_with_state) conv.groups = conv.in_channels;
  if (conv.groups < 1) return std::nullopt;
  conv.is_transposed = node.op == OperatorId::conv_transpose;
  const Shape placed = channels_first(node.attributes, conv.is_transposed ? x->shape : y->shape);
  conv.positions = placed[0] * product(placed.begin() + 2, placed.end());
  return conv;
}

std::vector<Gemm> products_of(const Graph& graph, const Node& node) {
  const auto row =
      std::find_if(std::begin(kProducts), std::end(kProducts), [&](const auto& r) { return r.op == node.op; });
  return row != std::end(kProducts) ? row->products(graph, node) : std::vector<Gemm>{};
}

Gemm gemm_of(const Graph& graph, const Node& node) {
  const std::vector<Gemm> products = products_of(graph, node);
  Gemm largest;
  double most = -1;
  for (const Gemm& gemm : products) {
    const double macs = gemm.batch * gemm.m * gemm.n * gemm.k;
    if (macs > most) {
      most = macs;
      largest = gemm;
    }
  }
  return largest;
}

}  // namespace latpred
