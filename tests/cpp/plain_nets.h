#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "batch/net_rows.h"

namespace latpred::testing {

// Chains of dense layers and of convolutions, with seconds by a law: a time for each call, weights over a bandwidth,
// multiply-accumulates of convolutions over a rate. The law is their base too, but for a factor that hangs on widths.
struct PlainNets {
  std::vector<double> attributes;
  std::vector<std::int64_t> lengths, positions;
  std::vector<double> base_s, target_s;
  std::int64_t num_nodes;

  PlainNets(std::int64_t count, std::int64_t most_nodes, unsigned seed) : num_nodes(most_nodes) {
    std::mt19937 random(seed);
    for (std::int64_t g = 0; g < count; ++g) {
      const bool is_convolution = random() % 2 == 0;
      const std::int64_t length = 3 + static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(most_nodes - 2));
      const std::int64_t pixels = is_convolution ? 64 : 1;
      double before = 0;
      double seconds = 0;
      for (std::int64_t place = 0; place < most_nodes; ++place) {
        const auto width = static_cast<double>(std::int64_t{1} << (random() % 10));
        if (place >= length) {
          attributes.insert(attributes.end(), {0, 0, 0});
          base_s.push_back(0);
          continue;
        }
        const double weights = place == 0 ? 0 : ((is_convolution ? 9 : 1) * before + 1) * width;
        attributes.insert(attributes.end(), {place == 0 ? 0.0 : is_convolution ? 2.0 : 1.0, weights, width});
        const double law = place == 0 ? 0 : 2e-6 + weights * static_cast<double>(pixels) / 1e10;
        base_s.push_back(law);
        seconds += law * (width > 64 ? 2 : 1);
        before = width;
      }
      lengths.push_back(length);
      positions.push_back(pixels);
      target_s.push_back(seconds);
    }
  }

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(lengths.size()); }
  [[nodiscard]] NetTable table() const {
    return {{attributes, lengths, target_s, size(), num_nodes}, positions, base_s};
  }
};

}  // namespace latpred::testing
