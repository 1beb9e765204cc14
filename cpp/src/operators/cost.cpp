#include <algorithm>
#include <cmath>
#include <set>

#include "latpred/error.h"
#include "latpred/operators.h"
#include "latpred/text.h"
#include "operators/attention_sizes.h"
#include "operators/products.h"
#include "operators/recurrent_sizes.h"

namespace latpred {
namespace {

// Scale, and the passes of a softmax, for every score; a mask adds one more.
constexpr double kFlopsPerScore = 6;
// Two biases and a transcendental function for every gate of a recurrent layer.
constexpr double kFlopsPerGate = 6;
// Complex radix-2 butterflies: 5 n log2(n) for a transform of n points.
constexpr double kFlopsPerButterfly = 5;

double elements(const Tensor* tensor) { return tensor != nullptr ? static_cast<double>(tensor->num_elements()) : 0; }

using Flops = double (*)(const Graph&, const Node&);

double per_element(const Node& node) { return operator_row(node.op).flops_per_element; }

// The default: the row's number for each element of the first output.
double of_output(const Graph& graph, const Node& node) {
  return per_element(node) * elements(output_tensor(graph, node, 0));
}

// What folds its input: reductions, global pools, losses.
double of_input(const Graph& graph, const Node& node) {
  return per_element(node) * elements(input_tensor(graph, node, 0));
}

double of_window(const Graph& graph, const Node& node) {
  double window = 1;
  for (const std::int64_t size : node.attributes.integers("kernel_shape")) window *= static_cast<double>(size);
  return window * of_output(graph, node);
}

// RoiAlign samples sampling_ratio^2 points for each output element; 0 means adaptive, at least one.
double of_samples(const Graph& graph, const Node& node) {
  const auto ratio = static_cast<double>(std::max<std::int64_t>(1, node.attributes.integer("sampling_ratio", 0)));
  return ratio * ratio * of_output(graph, node);
}

// n operands take n - 1 operations.
double of_operands(const Graph& graph, const Node& node) {
  const double operations = std::max(1.0, static_cast<double>(node.inputs.size()) - 1);
  return operations * of_output(graph, node);
}

// The bias of a product, once for each output element.
double of_bias(const Graph& graph, const Node& node) {
  const auto bias = operands_of(node.op).bias;
  return bias && input_tensor(graph, node, *bias) != nullptr ? elements(output_tensor(graph, node, 0)) : 0;
}

// A fused activation, and a fused sum (input 3 of a fused convolution), come on top of the bias.
double of_fused(const Graph& graph, const Node& node) {
  double per_output = node.attributes.has("activation") ? 1 : 0;
  if (node.op == OperatorId::fused_conv && input_tensor(graph, node, 3) != nullptr) per_output += 1;
  return of_bias(graph, node) + per_output * elements(output_tensor(graph, node, 0));
}

double of_attention(const Graph& graph, const Node& node) {
  const AttentionSizes sizes =
      attention_sizes(node.op, node.source_operator, node.attributes, input_shapes(graph, node));
  const Gemm scores = products_of(graph, node).front();
  double flops = (kFlopsPerScore + (sizes.has_mask ? 1 : 0)) * scores.batch * scores.m * scores.n;
  if (sizes.has_bias) {
    const double heads = static_cast<double>(sizes.batch) * static_cast<double>(sizes.q_heads);
    const auto head_size = static_cast<double>(sizes.head_size);
    flops += heads * (static_cast<double>(sizes.q_length) * head_size +
                      static_cast<double>(sizes.new_length) * (head_size + static_cast<double>(sizes.value_size)));
  }
  return flops;
}

double of_recurrent(const Graph& graph, const Node& node) {
  const RecurrentSizes sizes = recurrent_sizes(node.op, node.attributes, input_shapes(graph, node));
  return kFlopsPerGate * static_cast<double>(sizes.length * sizes.directions) * static_cast<double>(sizes.batch) *
         static_cast<double>(sizes.gates * sizes.hidden);
}

// Gaussian elimination of each matrix.
double of_determinant(const Graph& graph, const Node& node) {
  const Tensor* x = input_tensor(graph, node, 0);
  if (x == nullptr || x->shape.empty()) return 0;
  return elements(x) * static_cast<double>(x->shape.back()) * 2 / 3;
}

double of_fourier(const Graph& graph, const Node& node) {
  const Tensor* y = output_tensor(graph, node, 0);
  if (y == nullptr || y->shape.size() < 2) return 0;
  const std::size_t rank = y->shape.size();
  // Complex numbers along several dimensions, one after the other.
  const Shape axes = node.attributes.integers("axes");
  double stages = 0;
  for (std::int64_t axis : axes) {
    if (axis < 0) axis += static_cast<std::int64_t>(rank);
    if (axis < 0 || axis >= static_cast<std::int64_t>(rank)) return 0;
    stages += std::log2(std::max(2.0, static_cast<double>(y->shape[static_cast<std::size_t>(axis)])));
  }
  if (!axes.empty()) return kFlopsPerButterfly * elements(y) * stages;
  std::int64_t axis = node.op == OperatorId::stft ? -2 : node.attributes.integer("axis", -2);
  if (axis < 0) axis += static_cast<std::int64_t>(rank);
  const double points = axis >= 0 && axis < static_cast<std::int64_t>(rank) ? static_cast<double>(y->shape[axis]) : 1;
  return kFlopsPerButterfly * elements(y) / 2 * std::log2(std::max(2.0, points));
}

// n log2(n) comparisons.
double of_sorting(const Graph& graph, const Node& node) {
  const Tensor* x = input_tensor(graph, node, 0);
  if (x == nullptr || x->shape.empty()) return 0;
  std::int64_t axis = node.attributes.integer("axis", -1);
  if (axis < 0) axis += static_cast<std::int64_t>(x->shape.size());
  const auto length = static_cast<double>(x->shape.at(static_cast<std::size_t>(axis)));
  return elements(x) * std::log2(std::max(2.0, length));
}

// A row of the table is added for each index.
double of_bags(const Graph& graph, const Node& node) {
  const Tensor* table = input_tensor(graph, node, 0);
  if (table == nullptr || table->shape.empty()) return 0;
  return elements(input_tensor(graph, node, 1)) * static_cast<double>(table->shape.back());
}

// At each step every tag is reached from every tag before.
double of_paths(const Graph& graph, const Node& node) {
  const Tensor* emissions = input_tensor(graph, node, 0);
  if (emissions == nullptr || emissions->shape.empty()) return 0;
  return per_element(node) * elements(emissions) * static_cast<double>(emissions->shape.back());
}

double of_resize(const Graph& graph, const Node& node) {
  return node.attributes.text("mode", "nearest") == "nearest" ? 0 : of_output(graph, node);
}

// Einsum of one operand sums it.
double of_einsum(const Graph& graph, const Node& node) {
  return node.inputs.size() == 1 ? elements(input_tensor(graph, node, 0)) : 0;
}

struct FlopsRow {
  OperatorId op;
  Flops flops;
};

constexpr FlopsRow kFlops[] = {
    {OperatorId::max, of_operands},
    {OperatorId::min, of_operands},
    {OperatorId::mean, of_operands},
    {OperatorId::sum, of_operands},
    {OperatorId::conv, of_bias},
    {OperatorId::conv_transpose, of_bias},
    {OperatorId::qlinear_conv, of_bias},
    {OperatorId::deform_conv, of_bias},
    {OperatorId::causal_conv_with_state, of_bias},
    {OperatorId::fused_conv, of_fused},
    {OperatorId::gemm, of_bias},
    {OperatorId::linear, of_bias},
    {OperatorId::fused_gemm, of_fused},
    {OperatorId::qgemm, of_bias},
    {OperatorId::matmul_nbits, of_bias},
    {OperatorId::matmul_integer_to_float, of_bias},
    {OperatorId::dynamic_quantize_matmul, of_bias},
    {OperatorId::einsum, of_einsum},
    {OperatorId::max_pool, of_window},
    {OperatorId::average_pool, of_window},
    {OperatorId::lp_pool, of_window},
    {OperatorId::qlinear_average_pool, of_window},
    {OperatorId::global_average_pool, of_input},
    {OperatorId::global_max_pool, of_input},
    {OperatorId::global_lp_pool, of_input},
    {OperatorId::qlinear_global_average_pool, of_input},
    {OperatorId::adaptive_average_pool, of_input},
    {OperatorId::adaptive_max_pool, of_input},
    {OperatorId::roi_align, of_samples},
    {OperatorId::attention, of_attention},
    {OperatorId::multi_head_attention, of_attention},
    {OperatorId::group_query_attention, of_attention},
    {OperatorId::packed_attention, of_attention},
    {OperatorId::qattention, of_attention},
    {OperatorId::flex_attention, of_attention},
    {OperatorId::scaled_dot_product_attention, of_attention},
    {OperatorId::reduce_l1, of_input},
    {OperatorId::reduce_l2, of_input},
    {OperatorId::reduce_log_sum, of_input},
    {OperatorId::reduce_log_sum_exp, of_input},
    {OperatorId::reduce_max, of_input},
    {OperatorId::reduce_mean, of_input},
    {OperatorId::reduce_min, of_input},
    {OperatorId::reduce_prod, of_input},
    {OperatorId::reduce_sum, of_input},
    {OperatorId::reduce_sum_square, of_input},
    {OperatorId::reduce_variance, of_input},
    {OperatorId::reduce_any, of_input},
    {OperatorId::reduce_all, of_input},
    {OperatorId::histogram, of_input},
    {OperatorId::sort, of_sorting},
    {OperatorId::embedding_bag, of_bags},
    {OperatorId::crf_decoding, of_paths},
    {OperatorId::arg_max, of_input},
    {OperatorId::arg_min, of_input},
    {OperatorId::top_k, of_input},
    {OperatorId::det, of_determinant},
    {OperatorId::lstm, of_recurrent},
    {OperatorId::gru, of_recurrent},
    {OperatorId::rnn, of_recurrent},
    {OperatorId::dft, of_fourier},
    {OperatorId::stft, of_fourier},
    {OperatorId::resize, of_resize},
    {OperatorId::upsample, of_resize},
    {OperatorId::negative_log_likelihood_loss, of_input},
    {OperatorId::softmax_cross_entropy_loss, of_input},
};

// Operators that read of input 0 only as much as they put out.
bool reads_what_it_picks(OperatorId op) {
  constexpr OperatorId kPicking[] = {
      OperatorId::gather, OperatorId::gather_elements, OperatorId::gather_nd, OperatorId::embedding,
      OperatorId::slice,  OperatorId::compress,        OperatorId::index,     OperatorId::repeat_interleave};
  return std::find(std::begin(kPicking), std::end(kPicking), op) != std::end(kPicking);
}

// Data, scales and zero points of blocks, each read where it is picked.
bool is_picked_by_block(const Node& node, std::size_t index) {
  return node.op == OperatorId::gather_block_quantized && index != 1;
}

// Of `bytes` that belong to all elements of input 0 what belongs to as many as the node puts out.
std::int64_t picked_bytes(const Graph& graph, const Node& node, std::int64_t bytes) {
  const Tensor* data = input_tensor(graph, node, 0);
  const Tensor* out = output_tensor(graph, node, 0);
  if (data == nullptr || out == nullptr || out->num_elements() >= data->num_elements()) return bytes;
  const double share = static_cast<double>(out->num_elements()) / static_cast<double>(data->num_elements());
  return static_cast<std::int64_t>(std::ceil(static_cast<double>(bytes) * share));
}

// The tables of an embedding layer: word, position and segment rows, one for each token.
bool is_embedding_table(const Node& node, std::size_t index) {
  return node.op == OperatorId::embed_layer_norm && index >= 2 && index <= 4;
}

// Sizes of hostile files may add up to more than 2^63 bytes.
void add_bytes(const Node& node, std::int64_t bytes, std::int64_t& sum) {
  if (__builtin_add_overflow(sum, bytes, &sum)) {
    throw ShapeError(concat("node '", node.name, "' moves more than 2^63 bytes"), {.node = node.name});
  }
}

}  // namespace

Cost cost_of(const Graph& graph, const Node& node) {
  Cost cost;
  for (const Gemm& gemm : products_of(graph, node)) cost.macs += gemm.batch * gemm.m * gemm.n * gemm.k;
  const auto row = std::find_if(std::begin(kFlops), std::end(kFlops), [&](const auto& r) { return r.op == node.op; });
  cost.flops = 2 * cost.macs + (row != std::end(kFlops) ? row->flops : of_output)(graph, node);
  if (operator_row(node.op).kind == CostKind::view) return cost;

  std::int64_t output_bytes = 0;
  for (const TensorId id : node.outputs) {
    if (id != kAbsent) add_bytes(node, graph.tensors[id].size_bytes(), output_bytes);
  }
  cost.bytes_out = output_bytes;
  // A tensor that stands twice among the inputs is read once.
  std::set<TensorId> seen;
  for (std::size_t index = 0; index < node.inputs.size(); ++index) {
    const TensorId id = node.inputs[index];
    if (id == kAbsent || !seen.insert(id).second) continue;
    const Tensor& tensor = graph.tensors[id];
    std::int64_t bytes = tensor.size_bytes();
    if (index == 0 && reads_what_it_picks(node.op)) bytes = std::min(bytes, output_bytes);
    if (is_picked_by_block(node, index)) bytes = picked_bytes(graph, node, bytes);
    if (is_embedding_table(node, index)) {
      const Tensor* out = output_tensor(graph, node, 0);
      if (out != nullptr) bytes = std::min(bytes, out->size_bytes());
    }
    add_bytes(node, bytes, tensor.is_weight() ? cost.weight_bytes : cost.bytes_in);
  }
  return cost;
}

}  // namespace latpred
