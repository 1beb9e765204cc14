#include "predictors/transformer.h"

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log.h>
#include <ATen/ops/log1p.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace latpred {
namespace {

constexpr double kPositionBound = 0.05;  // Keras' start of an embedding

}  // namespace

Transformer::Transformer(const TransformerConfig& config, at::Generator generator)
    : config_(config), layout_(config), values_(torch::zeros({layout_.padded_size})) {
  const torch::NoGradGuard no_grad;
  double bound = 0;  // of a linear layer, whose bias follows its weight
  for (const TransformerLayout::Slot& slot : layout_.slots) {
    const at::Tensor view = values_.narrow(0, slot.offset, slot.size()).view(slot.shape).detach();
    if (slot.name == "positions") {
      view.uniform_(-kPositionBound, kPositionBound, generator);
    } else if (slot.name.ends_with("_gain")) {
      view.fill_(1);
      bound = 0;
    } else {
      if (slot.name.ends_with("_weight")) bound = 1 / std::sqrt(static_cast<double>(slot.shape[1]));
      view.uniform_(-bound, bound, generator);
    }
    by_offset_[slot.offset] = register_parameter(slot.name, view);
  }
  token_mean_ = register_buffer("token_mean", torch::zeros({kNodeAttributes}, torch::kDouble));
  token_deviation_ = register_buffer("token_deviation", torch::ones({kNodeAttributes}, torch::kDouble));
  target_mean_ = register_buffer("target_mean", torch::zeros({}, torch::kDouble));
  target_deviation_ = register_buffer("target_deviation", torch::ones({}, torch::kDouble));
  scale_.is_logarithmic = config.is_logarithmic();
}

void Transformer::set_scale(const TokenScale& scale) {
  const torch::NoGradGuard no_grad;
  scale_ = scale;
  token_mean_.copy_(at::tensor(scale.mean, at::kDouble));
  token_deviation_.copy_(at::tensor(scale.deviation, at::kDouble));
  target_mean_.fill_(scale.target_mean);
  target_deviation_.fill_(scale.target_deviation);
}

at::Tensor Transformer::scale_tokens(const at::Tensor& tokens) const {
  at::Tensor values = tokens;
  if (scale_.is_logarithmic) {
    // Widths are at least 1; 0 where padded, which the mask hides.
    values =
        at::stack({tokens.select(2, 0), at::log1p(tokens.select(2, 1)), at::log(tokens.select(2, 2).clamp_min(1))}, 2);
  }
  return ((values - token_mean_) / token_deviation_).to(at::kFloat);
}

at::Tensor Transformer::at_offset(std::int64_t offset) const { return by_offset_.at(offset); }

at::Tensor Transformer::norm(const at::Tensor& x, const TransformerLayout::Norm& at) const {
  return at::layer_norm(x, {config_.width}, at_offset(at.gain), at_offset(at.bias));
}

at::Tensor Transformer::linear(const at::Tensor& x, const TransformerLayout::Linear& at) const {
  return at::linear(x, at_offset(at.weight), at_offset(at.bias));
}

at::Tensor Transformer::attend(const at::Tensor& x, const at::Tensor& mask, const TransformerLayout::Half& at,
                               std::vector<at::Tensor>* shares) const {
  const std::int64_t graphs = x.size(0);
  const std::int64_t nodes = x.size(1);
  // [3, B, heads, N, head width]
  const at::Tensor qkv =
      linear(x, at.in).view({graphs, nodes, 3, config_.heads, config_.head_width()}).permute({2, 0, 3, 1, 4});
  const double scale = 1 / std::sqrt(static_cast<double>(config_.head_width()));
  const at::Tensor scores =
      at::matmul(qkv[0] * scale, qkv[1].transpose(-1, -2))
          .masked_fill(mask.logical_not().view({graphs, 1, 1, nodes}), -std::numeric_limits<double>::infinity());
  const at::Tensor share = at::softmax(scores, -1);
  if (shares != nullptr) shares->push_back(share.masked_fill(mask.logical_not().view({graphs, 1, nodes, 1}), 0));
  const at::Tensor mixed = at::matmul(share, qkv[2]).transpose(1, 2).reshape({graphs, nodes, config_.width});
  return linear(mixed, at.out);
}

at::Tensor Transformer::run(const at::Tensor& tokens, const at::Tensor& mask, const std::vector<at::Tensor>& dropout,
                            std::vector<at::Tensor>* shares) const {
  const std::int64_t nodes = tokens.size(1);
  at::Tensor positions;  // [N, D]
  if (config_.has_learned_positions()) {
    // Places that no valid node can have need no position of their own.
    const std::int64_t known = std::min(nodes, config_.most_nodes);
    positions = at::constant_pad_nd(at_offset(layout_.positions).narrow(0, 0, known), {0, 0, 0, nodes - known});
  } else {
    positions = at::tensor(sinusoidal_positions(nodes, config_.width), at::kFloat).view({nodes, config_.width});
  }
  const auto dropped = [&](const at::Tensor& values, std::size_t site) {
    return dropout.empty() ? values : values * dropout.at(site);
  };
  at::Tensor x = linear(tokens, layout_.embedding) + positions;
  for (std::size_t b = 0; b < layout_.blocks.size(); ++b) {
    const TransformerLayout::Half& attention = layout_.blocks[b].attention;
    const at::Tensor attended = attend(norm(x, attention.before), mask, attention, shares);
    x = x + dropped(norm(attended, attention.after), 2 * b);
    const TransformerLayout::Half& feed_forward = layout_.blocks[b].feed_forward;
    const at::Tensor inner = at::relu(linear(norm(x, feed_forward.before), feed_forward.in));
    x = x + dropped(norm(linear(inner, feed_forward.out), feed_forward.after), 2 * b + 1);
  }
  const at::Tensor valid = mask.unsqueeze(2);
  const at::Tensor mean = x.masked_fill(valid.logical_not(), 0).sum(1) / valid.sum(1);
  return linear(mean, layout_.output).squeeze(1);
}

at::Tensor Transformer::forward_scaled(const at::Tensor& tokens, const at::Tensor& mask,
                                       const std::vector<at::Tensor>& dropout) const {
  return run(tokens, mask, dropout, nullptr);
}

at::Tensor Transformer::forward(const TokenBatch& batch) const {
  const at::Tensor scaled = forward_scaled(scale_tokens(batch.tokens), batch.mask).to(at::kDouble);
  const at::Tensor values = scaled * target_deviation_ + target_mean_;
  return scale_.is_logarithmic ? values.exp() : values;
}

at::Tensor Transformer::attention(const TokenBatch& batch) const {
  std::vector<at::Tensor> shares;  // of each block [B, heads, N, N]
  (void)run(scale_tokens(batch.tokens), batch.mask, {}, &shares);
  return at::stack(shares, 1);
}

}  // namespace latpred
