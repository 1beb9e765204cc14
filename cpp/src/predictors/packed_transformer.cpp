#include "predictors/packed_transformer.h"

#include <algorithm>
#include <cmath>

#include "batch/token_table.h"

namespace latpred {
namespace {

constexpr std::int64_t kLine = 16;  // floats of a cache line

// Steele, Lea and Flood's SplitMix64: neighbouring keys give unrelated numbers.
std::uint64_t mixed(std::uint64_t key) {
  key += 0x9E3779B97F4A7C15;
  key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9;
  key = (key ^ (key >> 27)) * 0x94D049BB133111EB;
  return key ^ (key >> 31);
}

Dropout make_dropout(const DropoutPlan& plan, std::int64_t site) {
  if (plan.share <= 0) return {};
  const std::uint64_t key = mixed(plan.key ^ mixed(static_cast<std::uint64_t>(site)));
  Dropout dropout = dropout_of(plan.share, static_cast<std::uint32_t>(key));
  dropout.first_row = static_cast<std::uint32_t>(plan.first_token);
  return dropout;
}

}  // namespace

PackedTransformer::PackedTransformer(const TransformerConfig& config, const PackedKernels& kernels)
    : config_(config), layout_(config), kernels_(kernels) {
  std::int64_t size = 0;
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < config.blocks; ++i) {
    for (const std::int64_t values : {3 * config.width, config.width, config.feed_forward_width,
                                      config.feed_forward_width}) {  // beside `width`, as set_parameters turns them
      places.push_back(size);
      size += values * config.width;
    }
  }
  turned_.resize(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < places.size(); i += 2) {
    turned_halves_.push_back({turned_.data() + places[i], turned_.data() + places[i + 1]});
  }
}

void PackedTransformer::set_parameters(std::span<const float> parameters) {
  parameters_ = parameters.data();
  const std::int64_t width = config_.width;
  float* turned = turned_.data();
  const auto turn = [&](std::int64_t weight, std::int64_t outputs, std::int64_t inputs) {
    kernels_.transpose(parameters_ + weight, outputs, inputs, turned);
    turned += outputs * inputs;
  };
  for (const TransformerLayout::Block& block : layout_.blocks) {
    turn(block.attention.in.weight, 3 * width, width);
    turn(block.attention.out.weight, width, width);
    turn(block.feed_forward.in.weight, config_.feed_forward_width, width);
    turn(block.feed_forward.out.weight, width, config_.feed_forward_width);
  }
}

PackedAttentionSizes PackedTransformer::attention_sizes(const PackedGraphs& graphs) const {
  return {graphs.first_token.data(), graphs.num_graphs(), config_.heads, config_.head_width()};
}

void PackedTransformer::reserve(const PackedGraphs& graphs, Workspace& workspace) const {
  const std::int64_t width = config_.width;
  const std::int64_t inner_width = config_.feed_forward_width;
  const std::int64_t rows = whole(graphs.num_tokens(), kRowUnit);
  std::int64_t most_nodes = 0;
  std::int64_t shares = 0;
  for (std::int64_t g = 0; g < graphs.num_graphs(); ++g) {
    const auto i = static_cast<std::size_t>(g);
    const std::int64_t nodes = graphs.first_token[i + 1] - graphs.first_token[i];
    most_nodes = std::max(most_nodes, nodes);
    shares += attention_shares_size(nodes, config_.heads);
  }
  // Twice the same walk: first to add sizes up, then to hand places out.
  std::int64_t size = 0;
  const auto walk = [&](const auto& take) {
    const auto half = [&](Workspace::Half& places, std::int64_t inner, std::int64_t back) {
      take(places.input, rows * width);
      take(places.normed, rows * width);
      take(places.inner, rows * inner);
      if (back == inner) {
        places.mixed = places.inner;  // the rectifier's outputs go straight into the second product
      } else {
        take(places.mixed, rows * back);
      }
      take(places.back, rows * width);
      take(places.mean_before, rows);
      take(places.deviation_before, rows);
      take(places.mean_after, rows);
      take(places.deviation_after, rows);
    };
    for (Workspace::Block& block : workspace.blocks_) {
      half(block.attention, 3 * width, width);
      half(block.feed_forward, inner_width, inner_width);
      take(block.shares, shares);
    }
    take(workspace.result_, rows * width);
    take(workspace.pooled_, graphs.num_graphs() * width);
    take(workspace.scratch_, attention_scratch_size(most_nodes, config_.head_width()));
    take(workspace.d_x_, rows * width);
    take(workspace.d_back_, rows * width);
    take(workspace.d_mixed_, rows * width);
    take(workspace.d_inner_, rows * std::max(3 * width, inner_width));
  };
  workspace.blocks_.resize(layout_.blocks.size());
  walk([&](float*&, std::int64_t floats) { size += whole(floats, kLine); });
  if (static_cast<std::size_t>(size) > workspace.values_.size())
    workspace.values_.resize(static_cast<std::size_t>(size));
  float* next = workspace.values_.data();
  walk([&](float*& place, std::int64_t floats) {
    place = next;
    next += whole(floats, kLine);
  });
  if (!config_.has_learned_positions() && static_cast<std::int64_t>(workspace.sinusoids_.size()) < most_nodes * width) {
    workspace.sinusoids_ = sinusoidal_positions(most_nodes, width);
  }
}

void PackedTransformer::embed(const PackedGraphs& graphs, const float* positions, float* x) const {
  const std::int64_t width = config_.width;
  const float* weight = parameters_ + layout_.embedding.weight;
  const float* bias = parameters_ + layout_.embedding.bias;
  for (std::size_t g = 0; g + 1 < graphs.first_token.size(); ++g) {
    for (std::int64_t t = graphs.first_token[g]; t < graphs.first_token[g + 1]; ++t) {
      const float* token = graphs.tokens.data() + t * kNodeAttributes;
      const float* position = positions + (t - graphs.first_token[g]) * width;
      float* row = x + t * width;
      for (std::int64_t i = 0; i < width; ++i) {
        const float* w = weight + i * kNodeAttributes;
        row[i] = bias[i] + position[i] + token[0] * w[0] + token[1] * w[1] + token[2] * w[2];
      }
    }
  }
}

void PackedTransformer::pool(const PackedGraphs& graphs, Workspace& workspace, std::span<float> outputs) const {
  const std::int64_t width = config_.width;
  const float* weight = parameters_ + layout_.output.weight;
  for (std::size_t g = 0; g + 1 < graphs.first_token.size(); ++g) {
    float* pooled = workspace.pooled_ + static_cast<std::int64_t>(g) * width;
    std::fill_n(pooled, width, 0.0f);
    for (std::int64_t t = graphs.first_token[g]; t < graphs.first_token[g + 1]; ++t) {
      const float* row = workspace.result_ + t * width;
      for (std::int64_t i = 0; i < width; ++i) pooled[i] += row[i];
    }
    const float inverse = 1.0f / static_cast<float>(graphs.first_token[g + 1] - graphs.first_token[g]);
    float output = parameters_[layout_.output.bias];
    for (std::int64_t i = 0; i < width; ++i) {
      pooled[i] *= inverse;
      output += pooled[i] * weight[i];
    }
    outputs[g] = output;
  }
}

void PackedTransformer::forward(const PackedGraphs& graphs, const DropoutPlan& dropout, Workspace& workspace,
                                std::span<float> outputs) const {
  reserve(graphs, workspace);
  const std::int64_t width = config_.width;
  const std::int64_t tokens = graphs.num_tokens();
  const auto norm_at = [&](const TransformerLayout::Norm& norm) {
    return LayerNormOf{parameters_ + norm.gain, parameters_ + norm.bias};
  };
  embed(graphs, config_.has_learned_positions() ? parameters_ + layout_.positions : workspace.sinusoids_.data(),
        workspace.blocks_.front().attention.input);
  for (std::size_t b = 0; b < layout_.blocks.size(); ++b) {
    Workspace::Block& block = workspace.blocks_[b];
    float* next = b + 1 < layout_.blocks.size() ? workspace.blocks_[b + 1].attention.input : workspace.result_;
    const auto half = [&](const TransformerLayout::Half& at, const HalfWeights& turned, const Workspace::Half& places,
                          bool is_attention, float* out) {
      const std::int64_t inner = is_attention ? 3 * width : config_.feed_forward_width;
      kernels_.norm(places.input, norm_at(at.before), tokens, width, {places.mean_before, places.deviation_before},
                    places.normed);
      kernels_.multiply(places.normed, turned.in, parameters_ + at.in.bias, !is_attention, tokens, width, inner,
                        places.inner);
      if (is_attention) {
        kernels_.attention(places.inner, attention_sizes(graphs), workspace.scratch_, block.shares, places.mixed);
      }
      kernels_.multiply(places.mixed, turned.out, parameters_ + at.out.bias, false, tokens,
                        is_attention ? width : inner, width, places.back);
      kernels_.norm_and_add(places.back, norm_at(at.after), tokens, width, places.input,
                            make_dropout(dropout, static_cast<std::int64_t>(2 * b) + (is_attention ? 0 : 1)),
                            {places.mean_after, places.deviation_after}, out);
    };
    half(layout_.blocks[b].attention, turned_halves_[2 * b], block.attention, true, block.feed_forward.input);
    half(layout_.blocks[b].feed_forward, turned_halves_[2 * b + 1], block.feed_forward, false, next);
  }
  pool(graphs, workspace, outputs);
}

void PackedTransformer::backward(const PackedGraphs& graphs, const DropoutPlan& dropout, Workspace& workspace,
                                 std::span<const float> d_outputs, std::span<float> gradient) const {
  const std::int64_t width = config_.width;
  const std::int64_t tokens = graphs.num_tokens();
  float* to = gradient.data();
  const auto norm_at = [&](const TransformerLayout::Norm& norm) {
    return LayerNormOf{parameters_ + norm.gain, parameters_ + norm.bias};
  };

  float* d_weight = to + layout_.output.weight;
  std::fill_n(d_weight, width, 0.0f);
  to[layout_.output.bias] = 0;
  const float* weight = parameters_ + layout_.output.weight;
  for (std::size_t g = 0; g < d_outputs.size(); ++g) {
    const float* pooled = workspace.pooled_ + static_cast<std::int64_t>(g) * width;
    const float d_output = d_outputs[g];
    to[layout_.output.bias] += d_output;
    for (std::int64_t i = 0; i < width; ++i) d_weight[i] += d_output * pooled[i];
    const float each = d_output / static_cast<float>(graphs.first_token[g + 1] - graphs.first_token[g]);
    for (std::int64_t t = graphs.first_token[g]; t < graphs.first_token[g + 1]; ++t) {
      float* row = workspace.d_x_ + t * width;
      for (std::int64_t i = 0; i < width; ++i) row[i] = each * weight[i];
    }
  }

  for (std::size_t b = layout_.blocks.size(); b-- > 0;) {
    const Workspace::Block& block = workspace.blocks_[b];
    const auto half = [&](const TransformerLayout::Half& at, const Workspace::Half& places, bool is_attention) {
      const std::int64_t inner = is_attention ? 3 * width : config_.feed_forward_width;
      const std::int64_t back = is_attention ? width : inner;
      kernels_.norm_and_add_backward(workspace.d_x_, places.back, norm_at(at.after), tokens, width,
                                     make_dropout(dropout, static_cast<std::int64_t>(2 * b) + (is_attention ? 0 : 1)),
                                     {places.mean_after, places.deviation_after}, workspace.d_back_, to + at.after.gain,
                                     to + at.after.bias);
      kernels_.multiply_transposed(workspace.d_back_, places.mixed, tokens, width, back, to + at.out.weight,
                                   to + at.out.bias);
      float* d_mixed = is_attention ? workspace.d_mixed_ : workspace.d_inner_;
      kernels_.multiply(workspace.d_back_, parameters_ + at.out.weight, nullptr, false, tokens, width, back, d_mixed);
      if (is_attention) {
        kernels_.attention_backward(d_mixed, places.inner, block.shares, attention_sizes(graphs), workspace.scratch_,
                                    workspace.d_inner_);
      } else {
        kernels_.rectify_backward(workspace.d_inner_, places.inner, 1, tokens * inner, workspace.d_inner_);
      }
      kernels_.multiply_transposed(workspace.d_inner_, places.normed, tokens, inner, width, to + at.in.weight,
                                   to + at.in.bias);
      kernels_.multiply(workspace.d_inner_, parameters_ + at.in.weight, nullptr, false, tokens, inner, width,
                        workspace.d_back_);
      kernels_.norm_backward(workspace.d_back_, places.input, norm_at(at.before), tokens, width,
                             {places.mean_before, places.deviation_before}, workspace.d_x_, to + at.before.gain,
                             to + at.before.bias);
    };
    half(layout_.blocks[b].feed_forward, block.feed_forward, false);
    half(layout_.blocks[b].attention, block.attention, true);
  }

  float* d_embedding = to + layout_.embedding.weight;
  float* d_bias = to + layout_.embedding.bias;
  std::fill_n(d_embedding, width * kNodeAttributes, 0.0f);
  std::fill_n(d_bias, width, 0.0f);
  float* d_positions = nullptr;
  if (config_.has_learned_positions()) {
    d_positions = to + layout_.positions;
    std::fill_n(d_positions, config_.most_nodes * width, 0.0f);
  }
  for (std::size_t g = 0; g < d_outputs.size(); ++g) {
    for (std::int64_t t = graphs.first_token[g]; t < graphs.first_token[g + 1]; ++t) {
      const float* token = graphs.tokens.data() + t * kNodeAttributes;
      const float* row = workspace.d_x_ + t * width;
      for (std::int64_t i = 0; i < width; ++i) {
        d_bias[i] += row[i];
        for (std::int64_t k = 0; k < kNodeAttributes; ++k) d_embedding[i * kNodeAttributes + k] += row[i] * token[k];
      }
      if (d_positions == nullptr) continue;
      float* position = d_positions + (t - graphs.first_token[g]) * width;
      for (std::int64_t i = 0; i < width; ++i) position[i] += row[i];
    }
  }
}

std::vector<float> dropout_scales(const DropoutPlan& plan, std::int64_t site, std::int64_t num_tokens,
                                  std::int64_t width) {
  // A LayerNorm whose gain is 0 and bias 1 gives ones, which dropout scales.
  const std::int64_t rows = whole(num_tokens, kRowUnit);
  const auto size = static_cast<std::size_t>(rows * width);
  const AlignedFloats zeros(size), ones(static_cast<std::size_t>(width), 1.0f);
  AlignedFloats out(size), mean(static_cast<std::size_t>(rows)), deviation(static_cast<std::size_t>(rows));
  fastest_packed_kernels().norm_and_add(zeros.data(), {zeros.data(), ones.data()}, num_tokens, width, zeros.data(),
                                        make_dropout(plan, site), {mean.data(), deviation.data()}, out.data());
  return {out.begin(), out.begin() + num_tokens * width};
}

}  // namespace latpred
