#include "eager_extras.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "kernels/strides.h"
#include "latpred/operators.h"
#include "operators/layout.h"

namespace latpred {
namespace {

constexpr std::int64_t kFloatBytes = 4;  // statistics are float32 whatever the activations are
constexpr std::int64_t kIndexBytes = 8;  // indices are int64
constexpr int kBitsPerByte = 8;

using Extras = std::vector<EagerExtra>;

std::int64_t product(Shape::const_iterator begin, Shape::const_iterator end) {
  return std::accumulate(begin, end, std::int64_t{1}, std::multiplies<>());
}

// Kernels that read rows in order copy a strided input first. Channels-last images count as in order where
// `images_too`.
void copy_if_strided(const EagerNode& eager, Extras& extras, bool images_too, bool is_saved_instead) {
  const TensorId id = eager.node.inputs[0];
  const Shape& shape = eager.input(0).shape;
  if (is_contiguous(shape, eager.strides[id])) return;
  if (images_too && is_in_other_order(eager.node.attributes, shape, eager.strides[id])) return;
  extras.push_back({eager.size_bytes(id), is_saved_instead, is_saved_instead ? id : kAbsent});
}

// The library gets input and weight in one memory format; a weight of one channel or one point is in both.
void convolution(const EagerNode& eager, Extras& extras) {
  copy_if_strided(eager, extras, true, false);
  const Attributes& attributes = eager.node.attributes;
  const TensorId image = eager.node.inputs[0];
  if (!eager.has_input(1) || !is_in_other_order(attributes, eager.input(0).shape, eager.strides[image])) return;
  const Filter filter = filter_of(eager.node.op, attributes, eager.input(1).shape);
  const std::int64_t inner = eager.node.op == OperatorId::conv_transpose ? filter.out : filter.in;
  if (inner == 1 || product(filter.window.begin(), filter.window.end()) == 1) return;
  extras.push_back({eager.size_bytes(eager.node.inputs[1])});
}

void row_kernel(const EagerNode& eager, Extras& extras) { copy_if_strided(eager, extras, false, false); }

// In evaluation, too, the kernel fills a mean and an inverse deviation for each channel; backward does not use them.
void batch_norm(const EagerNode& eager, Extras& extras) {
  const Shape& shape = eager.input(0).shape;
  if (shape.size() < 2) return;
  const std::int64_t channels = shape[channel_axis(eager.node.attributes, shape.size())];
  extras.push_back({channels * kFloatBytes});
  extras.push_back({channels * kFloatBytes});
}

// Mean and inverse deviation of each row.
void layer_norm(const EagerNode& eager, Extras& extras) {
  row_kernel(eager, extras);
  const Shape& shape = eager.output(0).shape;  // of some contrib operators the first input is the ids
  std::int64_t axis = eager.node.attributes.integer("axis", -1);
  if (axis < 0) axis += static_cast<std::int64_t>(shape.size());
  const std::int64_t rows =
      product(shape.begin(), shape.begin() + std::clamp<std::int64_t>(axis, 0, std::ssize(shape)));
  extras.push_back({rows * kFloatBytes, true});
  extras.push_back({rows * kFloatBytes, true});
}

// The fused CUDA kernel keeps the inverse root of each row; on a CPU PyTorch takes the operator apart.
void rms_norm(const EagerNode& eager, Extras& extras) {
  layer_norm(eager, extras);
  extras.pop_back();
}

// group_norm() makes its input contiguous before autograd sees it, so that the copy is what is saved.
void group_norm(const EagerNode& eager, Extras& extras) {
  copy_if_strided(eager, extras, false, true);
  const std::int64_t statistics =
      eager.input(0).shape[0] * eager.node.attributes.integer("num_groups", 1) * kFloatBytes;
  extras.push_back({statistics, true});
  extras.push_back({statistics, true});
}

// Runs as a batch norm over N x C channels: its weights repeated for each image, the statistics and two buffers.
void instance_norm(const EagerNode& eager, Extras& extras) {
  copy_if_strided(eager, extras, false, true);
  const Shape& shape = eager.input(0).shape;
  const std::int64_t channels = shape[0] * shape[channel_axis(eager.node.attributes, shape.size())] * kFloatBytes;
  const bool has_weight = eager.has_input(1);
  const bool has_bias = eager.has_input(2);
  if (has_weight) extras.push_back({channels, true});
  if (has_bias) extras.push_back({channels});
  for (const bool is_kept : {true, true, false, false}) extras.push_back({channels, is_kept});
}

void pooled_indices(const EagerNode& eager, Extras& extras) {
  row_kernel(eager, extras);
  extras.push_back({eager.output(0).num_elements() * kIndexBytes, true});
}

// max_pool1d has a kernel without indices for the case that no gradient is asked for.
void max_pool(const EagerNode& eager, Extras& extras) {
  constexpr std::size_t kRankOf1d = 3;
  if (eager.input(0).shape.size() == kRankOf1d && !eager.is_recorded()) {
    copy_if_strided(eager, extras, false, false);
    return;
  }
  pooled_indices(eager, extras);
}

// Flash attention: the log of each row's sum of exponentials. Queries are [B, heads, L, E]. Those of another rank go to
// products of matrices, which write the scores twice, before and behind the softmax, and in float32 from half
// precision.
void attention(const EagerNode& eager, Extras& extras) {
  constexpr std::size_t kFusedRank = 4;
  const Shape& query = eager.input(0).shape;
  if (query.empty()) return;
  const std::int64_t rows = product(query.begin(), query.end() - 1);
  if (query.size() == kFusedRank || eager.is_recorded()) {
    extras.push_back({rows * kFloatBytes, true});
    return;
  }
  const Shape& key = eager.input(1).shape;
  const std::int64_t scores = key.size() < 2 ? 0 : rows * key[key.size() - 2] * kFloatBytes;
  for (int copy = 0; copy < 2; ++copy) extras.push_back({scores});
}

// torch.nn.functional.softsign is x / (1 + |x|), operator by operator.
void softsign(const EagerNode& eager, Extras& extras) {
  extras.push_back({eager.size_bytes(eager.node.outputs[0]), true});
}

// torch.nn.functional.local_response_norm, operator by operator: squares, padded squares, their mean, scaled, raised,
// to the power. `padded` and two of the others are saved.
void local_response_norm(const EagerNode& eager, Extras& extras) {
  const std::int64_t size = eager.size_bytes(eager.node.outputs[0]);
  const Shape& shape = eager.input(0).shape;
  if (shape.size() < 2) return;
  const std::int64_t channels = shape[channel_axis(eager.node.attributes, shape.size())];
  if (channels == 0) return;
  const std::int64_t padded = size / channels * (channels + eager.node.attributes.integer("size", 1) - 1);
  if (eager.is_recorded()) {
    for (const std::int64_t bytes : {padded, size, size}) extras.push_back({bytes, true});
  } else {
    extras.push_back({std::max(padded, 2 * size)});
  }
}

// The largest of each row, subtracted from a copy of the input.
void log_sum_exp(const EagerNode& eager, Extras& extras) {
  extras.push_back({eager.size_bytes(eager.node.inputs[0])});
  extras.push_back({eager.size_bytes(eager.node.outputs[0])});
}

// Modelled, not exact: what cuDNN keeps for backward is about one value for each gate and the cell of each step.
void recurrent(const EagerNode& eager, Extras& extras) {
  if (!eager.is_recorded()) return;
  constexpr std::array<std::pair<OperatorId, std::int64_t>, 3> kValuesPerStep{
      {{OperatorId::lstm, 5}, {OperatorId::gru, 4}, {OperatorId::rnn, 1}}};
  for (const auto& [op, values] : kValuesPerStep) {
    if (op == eager.node.op) extras.push_back({values * eager.size_bytes(eager.node.outputs[0]), true});
  }
}

// `index` of a matrix product, seen as `wanted` after broadcasting its batch to `batch`: a copy where strides forbid
// it.
void reshape_factor(const EagerNode& eager, std::size_t index, const Shape& batch, const Shape& wanted,
                    Extras& extras) {
  const TensorId id = eager.node.inputs[index];
  const Shape& shape = eager.input(index).shape;
  const Shape& strides = eager.strides[id];
  Shape expanded = batch;
  Shape expanded_strides(batch.size(), 0);
  const std::size_t num_batch = shape.size() - 2;
  for (std::size_t i = 0; i < num_batch; ++i) {
    const std::size_t to = batch.size() - num_batch + i;
    if (shape[i] == batch[to]) expanded_strides[to] = strides[i];
  }
  expanded.insert(expanded.end(), shape.end() - 2, shape.end());
  expanded_strides.insert(expanded_strides.end(), strides.end() - 2, strides.end());
  if (viewed_strides(expanded, expanded_strides, wanted)) return;
  const std::int64_t count = product(expanded.begin(), expanded.end());
  const std::int64_t bytes = (count * eager.tensor_bits[id] + kBitsPerByte - 1) / kBitsPerByte;
  const bool is_saved = eager.asks_gradient(1 - index);  // the other factor's gradient needs it
  extras.push_back({bytes, is_saved, is_saved ? id : kAbsent});
}

// [.., m, k] x [k, n] as one product of [.. m, k]: what torch.matmul does where the second factor is a weight.
void fold_first(const EagerNode& eager, Extras& extras) {
  const Shape& shape = eager.input(0).shape;
  const Shape batch(shape.begin(), shape.end() - 2);
  reshape_factor(eager, 0, batch, {product(shape.begin(), shape.end() - 1), shape.back()}, extras);
}

// torch.matmul: one product, or a batch of products on factors that are reshaped to three dimensions.
void matmul(const EagerNode& eager, Extras& extras) {
  if (!eager.has_input(1)) return;
  const Shape& a = eager.input(0).shape;
  const Shape& b = eager.input(1).shape;
  if (a.size() < 2 || b.size() < 2 || (a.size() == 2 && b.size() == 2)) return;
  if (b.size() == 2) {
    const Shape& strides = eager.strides[eager.node.inputs[0]];
    bool folds_without_copy = true;
    for (std::size_t i = 0; i + 2 < a.size(); ++i) folds_without_copy &= strides[i] == strides[i + 1] * a[i + 1];
    const bool is_weight = eager.input(1).kind == TensorKind::parameter || eager.asks_gradient(1);
    if (is_weight || folds_without_copy) return fold_first(eager, extras);
  }
  const Shape& result = eager.output(0).shape;
  if (result.size() < 2) return;
  const Shape batch(result.begin(), result.end() - 2);
  const std::int64_t count = product(batch.begin(), batch.end());
  reshape_factor(eager, 0, batch, {count, a[a.size() - 2], a.back()}, extras);
  reshape_factor(eager, 1, batch, {count, b[b.size() - 2], b.back()}, extras);
}

void linear(const EagerNode& eager, Extras& extras) {
  if (eager.input(0).shape.size() > 2) fold_first(eager, extras);
}

using Rule = void (*)(const EagerNode&, Extras&);

struct RuleRow {
  OperatorId op;
  Rule rule;
};

constexpr RuleRow kRules[]{
    {OperatorId::conv, convolution},
    {OperatorId::conv_transpose, convolution},
    {OperatorId::fused_conv, convolution},
    {OperatorId::batch_norm, batch_norm},
    {OperatorId::layer_norm, layer_norm},
    {OperatorId::skip_layer_norm, layer_norm},
    {OperatorId::embed_layer_norm, layer_norm},
    {OperatorId::rms_norm, rms_norm},
    {OperatorId::skip_rms_norm, rms_norm},
    {OperatorId::group_norm, group_norm},
    {OperatorId::instance_norm, instance_norm},
    {OperatorId::lrn, local_response_norm},
    {OperatorId::max_pool, max_pool},
    {OperatorId::global_max_pool, pooled_indices},
    {OperatorId::adaptive_max_pool, pooled_indices},
    {OperatorId::average_pool, row_kernel},
    {OperatorId::softmax, row_kernel},
    {OperatorId::log_softmax, row_kernel},
    {OperatorId::softsign, softsign},
    {OperatorId::reduce_log_sum_exp, log_sum_exp},
    {OperatorId::scaled_dot_product_attention, attention},
    {OperatorId::lstm, recurrent},
    {OperatorId::gru, recurrent},
    {OperatorId::rnn, recurrent},
    {OperatorId::matmul, matmul},
    {OperatorId::fused_matmul, matmul},
    {OperatorId::linear, linear},
};

constexpr std::array<Rule, kOperatorIdLimit> kRuleOf = [] {
  std::array<Rule, kOperatorIdLimit> rules{};
  for (const RuleRow& row : kRules) rules[static_cast<std::size_t>(row.op)] = row.rule;
  return rules;
}();

}  // namespace

std::int64_t stored_bytes(const Tensor& tensor, int element_bits) {
  return (tensor.num_elements() * element_bits + kBitsPerByte - 1) / kBitsPerByte;
}

bool EagerNode::is_recorded() const {
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [this](TensorId id) { return id != kAbsent && requires_gradient[id]; });
}

std::vector<EagerExtra> eager_extras(const EagerNode& eager) {
  Extras extras;
  // Every rule looks at the first input and output.
  if (!eager.has_input(0) || eager.node.outputs.empty() || eager.node.outputs[0] == kAbsent) return extras;
  const auto id = static_cast<std::size_t>(eager.node.op);
  if (id < kOperatorIdLimit && kRuleOf[id] != nullptr) kRuleOf[id](eager, extras);
  return extras;
}

}  // namespace latpred
