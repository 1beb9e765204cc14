#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace latpred {

// What is known of a node: its operation (0 an input, 1 a dense layer), how many weights it has (bias included, as
// Keras counts) and how many numbers it gives.
inline constexpr std::int64_t kNodeAttributes = 3;

// Graphs that are chains of nodes, each node a token, as another owns them. Knows nothing of torch. Nodes from a
// graph's length on are padding, whatever stands there.
struct TokenTable {
  std::span<const double> attributes;     // [G, N, 3], row-major
  std::span<const std::int64_t> lengths;  // [G], 1 to N
  std::span<const double> target_s;       // [G], or empty where only a prediction is wanted
  std::int64_t num_graphs = 0;            // G
  std::int64_t num_nodes = 0;             // N

  [[nodiscard]] std::span<const double> node(std::int64_t graph, std::int64_t place) const {
    return attributes.subspan(static_cast<std::size_t>((graph * num_nodes + place) * kNodeAttributes), kNodeAttributes);
  }
  [[nodiscard]] std::int64_t length(std::int64_t graph) const { return lengths[static_cast<std::size_t>(graph)]; }
};

// Brings attributes and seconds to numbers that a network learns from: mean 0 and deviation 1 over the nodes and graphs
// that it was trained on, of the values themselves or of their logarithms.
struct TokenScale {
  bool is_logarithmic = false;
  std::vector<double> mean = std::vector<double>(kNodeAttributes, 0.0);
  std::vector<double> deviation = std::vector<double>(kNodeAttributes, 1.0);
  double target_mean = 0;
  double target_deviation = 1;

  [[nodiscard]] float token(double value, std::int64_t attribute) const;
  [[nodiscard]] float target(double seconds) const;
  [[nodiscard]] double seconds(double scaled_target) const;
};

// Scaled nodes of some graphs one after another, without padding.
struct PackedTokens {
  std::vector<float> tokens;              // [T, 3]
  std::vector<std::int64_t> first_token;  // [G + 1]
  std::vector<float> targets;             // [G], or empty

  [[nodiscard]] std::int64_t num_graphs() const { return static_cast<std::int64_t>(first_token.size()) - 1; }
  [[nodiscard]] std::int64_t most_nodes() const;  // of one graph
};

// Refuses attributes of a node that are not finite or too small: of one sort of table's nodes as of the other's.
void check_attributes(std::span<const double> node, std::int64_t graph, std::int64_t place);

// Refuses sizes that disagree, lengths outside, operations that nobody knows, numbers that are not finite or too small.
void check(const TokenTable& table);

// Of checked rows with targets.
[[nodiscard]] TokenScale scale_of(const TokenTable& table, bool is_logarithmic);
// Of checked rows.
[[nodiscard]] PackedTokens pack(const TokenTable& table, const TokenScale& scale);

// A number that differs where valid nodes, lengths or targets do; padding does not count.
[[nodiscard]] std::uint64_t fingerprint(const TokenTable& table);

}  // namespace latpred
