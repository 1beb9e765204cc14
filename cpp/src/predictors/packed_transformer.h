#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "predictors/aligned_floats.h"
#include "predictors/packed_kernels.h"
#include "predictors/transformer_layout.h"

namespace latpred {

// Some graphs as scaled nodes without padding.
struct PackedGraphs {
  std::span<const float> tokens;              // [T, 3]
  std::span<const std::int64_t> first_token;  // [G + 1], from 0 to T

  [[nodiscard]] std::int64_t num_graphs() const { return static_cast<std::int64_t>(first_token.size()) - 1; }
  [[nodiscard]] std::int64_t num_tokens() const { return first_token.back(); }
};

// What is dropped in one step: `key` tells steps apart, `first_token` the parts of one batch.
struct DropoutPlan {
  double share = 0;
  std::uint64_t key = 0;
  std::int64_t first_token = 0;
};

// The transformer of predictors/transformer.h with its gradient by hand, over packed tokens: no padding is multiplied,
// no graph of operations is built. Its weights are views of the caller's array.
class PackedTransformer {
 public:
  explicit PackedTransformer(const TransformerConfig& config, const PackedKernels& kernels = fastest_packed_kernels());
  PackedTransformer(const PackedTransformer&) = delete;
  PackedTransformer& operator=(const PackedTransformer&) = delete;

  // Looks at `parameters` [padded_size] until the next call: once after each change of them.
  void set_parameters(std::span<const float> parameters);

  // What a forward pass leaves for the backward pass; one for each thread.
  class Workspace {
    friend class PackedTransformer;
    AlignedFloats values_;
    std::vector<float> sinusoids_;  // [nodes, D], as many as a graph ever had
    struct Half {
      float *input, *normed, *inner, *mixed, *back, *mean_before, *deviation_before, *mean_after, *deviation_after;
    };
    struct Block {
      Half attention, feed_forward;
      float* shares;
    };
    std::vector<Block> blocks_;
    float *result_ = nullptr, *pooled_ = nullptr, *scratch_ = nullptr;
    float *d_x_ = nullptr, *d_back_ = nullptr, *d_mixed_ = nullptr, *d_inner_ = nullptr;
  };

  // Scaled latencies [G].
  void forward(const PackedGraphs& graphs, const DropoutPlan& dropout, Workspace& workspace,
               std::span<float> outputs) const;
  // The gradient of the graphs of the last forward pass, written over `gradient` [padded_size].
  void backward(const PackedGraphs& graphs, const DropoutPlan& dropout, Workspace& workspace,
                std::span<const float> d_outputs /* [G] */, std::span<float> gradient) const;

  [[nodiscard]] const TransformerLayout& layout() const { return layout_; }
  [[nodiscard]] const PackedKernels& kernels() const { return kernels_; }

 private:
  struct HalfWeights {
    const float *in, *out;  // turned, [inputs, outputs]
  };
  void reserve(const PackedGraphs& graphs, Workspace& workspace) const;
  void embed(const PackedGraphs& graphs, const float* positions, float* x) const;
  void pool(const PackedGraphs& graphs, Workspace& workspace, std::span<float> outputs) const;
  [[nodiscard]] PackedAttentionSizes attention_sizes(const PackedGraphs& graphs) const;

  TransformerConfig config_;
  TransformerLayout layout_;
  const PackedKernels& kernels_;
  const float* parameters_ = nullptr;
  AlignedFloats turned_;
  std::vector<HalfWeights> turned_halves_;  // attention, feed-forward of each block
};

// The scale of each of [T, D] values at a site (2 in each block): 0 where dropped. For tests.
[[nodiscard]] std::vector<float> dropout_scales(const DropoutPlan& plan, std::int64_t site, std::int64_t num_tokens,
                                                std::int64_t width);

}  // namespace latpred
