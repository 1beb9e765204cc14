#include "predictors/transformer_layout.h"

#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "batch/token_table.h"
#include "predictors/packed_kernels.h"

namespace latpred {

std::int64_t TransformerLayout::Slot::size() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::int64_t TransformerLayout::add(const std::string& name, std::vector<std::int64_t> shape) {
  slots.push_back({name, std::move(shape), padded_size});
  const std::int64_t size = slots.back().size();
  num_values += size;
  padded_size += (size + kScoreUnit - 1) / kScoreUnit * kScoreUnit;
  return slots.back().offset;
}

TransformerLayout::Norm TransformerLayout::add_norm(const std::string& name, std::int64_t width) {
  const std::int64_t gain = add(name + "_gain", {width});
  return {gain, add(name + "_bias", {width})};
}

TransformerLayout::Linear TransformerLayout::add_linear(const std::string& name, std::int64_t outputs,
                                                        std::int64_t inputs) {
  const std::int64_t weight = add(name + "_weight", {outputs, inputs});
  return {weight, add(name + "_bias", {outputs})};
}

TransformerLayout::Half TransformerLayout::add_half(const std::string& name, std::int64_t width, std::int64_t inner,
                                                    std::int64_t back) {
  Half half{};
  half.before = add_norm(name + "_norm_before", width);
  half.in = add_linear(name + "_in", inner, width);
  half.out = add_linear(name + "_out", width, back);
  half.after = add_norm(name + "_norm_after", width);
  return half;
}

TransformerLayout::TransformerLayout(const TransformerConfig& config) {
  embedding = add_linear("embedding", config.width, kNodeAttributes);
  if (config.has_learned_positions()) positions = add("positions", {config.most_nodes, config.width});
  for (std::int64_t i = 0; i < config.blocks; ++i) {
    const std::string name = "block_" + std::to_string(i);
    Block block{};
    block.attention = add_half(name + "_attention", config.width, 3 * config.width, config.width);
    block.feed_forward =
        add_half(name + "_feed_forward", config.width, config.feed_forward_width, config.feed_forward_width);
    blocks.push_back(block);
  }
  output = add_linear("output", 1, config.width);
}

std::vector<float> sinusoidal_positions(std::int64_t nodes, std::int64_t width) {
  constexpr double kLongestPeriod = 10000;
  std::vector<float> result;
  result.reserve(static_cast<std::size_t>(nodes * width));
  for (std::int64_t place = 0; place < nodes; ++place) {
    for (std::int64_t i = 0; i < width; ++i) {
      const double rate = std::pow(kLongestPeriod, -static_cast<double>(i / 2 * 2) / static_cast<double>(width));
      const double angle = static_cast<double>(place) * rate;
      result.push_back(static_cast<float>(i % 2 == 0 ? std::sin(angle) : std::cos(angle)));
    }
  }
  return result;
}

}  // namespace latpred
