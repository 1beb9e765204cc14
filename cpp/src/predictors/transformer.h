#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <map>
#include <vector>

#include "batch/token_batch.h"
#include "predictors/transformer_layout.h"

namespace latpred {

// Khan's transformer: nodes are tokens, blocks of x + dropout(LN(f(LN(x)))) for attention and for the feed-forward net,
// the mean over valid nodes, one number. Written to be read; predictors/packed_transformer.h computes the same faster
// and is held to it.
//
// It takes attributes and gives seconds as they are: scaled inside, by buffers that are saved with the weights.
class Transformer : public torch::nn::Module {
 public:
  // Weights are drawn from `generator` alone, as torch's linear layers start.
  Transformer(const TransformerConfig& config, at::Generator generator);

  void set_scale(const TokenScale& scale);
  [[nodiscard]] const TokenScale& scale() const { return scale_; }

  [[nodiscard]] at::Tensor scale_tokens(const at::Tensor& tokens /* [B, N, 3] */) const;  // float [B, N, 3]
  [[nodiscard]] at::Tensor forward(const TokenBatch& batch) const;                        // double [B] seconds
  // `dropout`: what the second halves' outputs are multiplied by, [B, N, D] for each of the 2 x blocks sites; none: 1.
  [[nodiscard]] at::Tensor forward_scaled(const at::Tensor& tokens /* float [B, N, 3] */,
                                          const at::Tensor& mask /* [B, N] */,
                                          const std::vector<at::Tensor>& dropout = {}) const;  // float [B]
  // How much each node (row) attends to each other: float [B, blocks, heads, N, N]; 0 where either is padding.
  [[nodiscard]] at::Tensor attention(const TokenBatch& batch) const;

  [[nodiscard]] const TransformerConfig& config() const { return config_; }
  [[nodiscard]] const TransformerLayout& layout() const { return layout_; }
  // All parameters as one array [padded_size]; each registered one is a view of it.
  [[nodiscard]] const at::Tensor& values() const { return values_; }

 private:
  [[nodiscard]] at::Tensor run(const at::Tensor& tokens, const at::Tensor& mask, const std::vector<at::Tensor>& dropout,
                               std::vector<at::Tensor>* shares) const;
  [[nodiscard]] at::Tensor at_offset(std::int64_t offset) const;
  [[nodiscard]] at::Tensor norm(const at::Tensor& x, const TransformerLayout::Norm& at) const;
  [[nodiscard]] at::Tensor linear(const at::Tensor& x, const TransformerLayout::Linear& at) const;
  [[nodiscard]] at::Tensor attend(const at::Tensor& x, const at::Tensor& mask, const TransformerLayout::Half& at,
                                  std::vector<at::Tensor>* shares) const;

  TransformerConfig config_;
  TransformerLayout layout_;
  TokenScale scale_;
  at::Tensor values_;
  std::map<std::int64_t, at::Tensor> by_offset_;
  at::Tensor token_mean_;        // double [3]
  at::Tensor token_deviation_;   // double [3]
  at::Tensor target_mean_;       // double []
  at::Tensor target_deviation_;  // double []
};

}  // namespace latpred
