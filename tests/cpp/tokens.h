#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "batch/token_table.h"

namespace latpred::testing {

// Chains of dense layers with widths 2^0 to 2^14 as tokens, and seconds by a roofline: weights over a bandwidth, plus a
// time for each call, with some noise.
struct Chains {
  std::vector<double> attributes;
  std::vector<std::int64_t> lengths;
  std::vector<double> target_s;
  std::int64_t num_nodes;

  Chains(std::int64_t num_graphs, std::int64_t least_nodes, std::int64_t most_nodes, unsigned seed)
      : num_nodes(most_nodes) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> noise(0.97, 1.03);
    for (std::int64_t g = 0; g < num_graphs; ++g) {
      const auto choices = static_cast<std::uint32_t>(most_nodes - least_nodes + 1);
      const std::int64_t length = least_nodes + static_cast<std::int64_t>(random() % choices);
      double before = 0;
      double all_weights = 0;
      for (std::int64_t place = 0; place < most_nodes; ++place) {
        const auto width = static_cast<double>(std::int64_t{1} << (random() % 15));
        if (place >= length) {
          attributes.insert(attributes.end(), {0, 0, 0});
          continue;
        }
        const double weights = place == 0 ? 0 : (before + 1) * width;
        attributes.insert(attributes.end(), {place == 0 ? 0.0 : 1.0, weights, width});
        all_weights += weights;
        before = width;
      }
      lengths.push_back(length);
      target_s.push_back((4 * all_weights / 3e10 + 2e-6 * static_cast<double>(length - 1)) * noise(random));
    }
  }

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(lengths.size()); }
  [[nodiscard]] TokenTable table() const { return {attributes, lengths, target_s, size(), num_nodes}; }
  [[nodiscard]] TokenTable unlabelled() const { return {attributes, lengths, {}, size(), num_nodes}; }
};

}  // namespace latpred::testing
