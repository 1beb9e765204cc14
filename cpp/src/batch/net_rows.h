#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "batch/token_table.h"

namespace latpred {

// What the nodes of a plain net can be: an input, a dense layer, a 3 x 3 convolution.
inline constexpr std::int64_t kNetOperations = 3;

// Plain nets, chains of such nodes, as another owns them. Knows nothing of torch.
struct NetTable {
  TokenTable tokens;  // [G, N, 3] and lengths, seconds [G] or none
  std::span<const std::int64_t>
      positions;                   // [G] how often a call uses each weight: 1, of convolutions an image's pixels
  std::span<const double> base_s;  // [G, N] seconds of each layer by a law; empty where no row needs it

  [[nodiscard]] std::int64_t num_graphs() const { return tokens.num_graphs; }
};

// Rows of numbers to learn from; net after net.
struct NetRows {
  std::int64_t num_columns = 0;
  std::vector<double> features;         // [R, F]
  std::vector<std::int64_t> first_row;  // [G + 1]
  std::vector<double> log_base;         // [R] of the law's seconds; empty where a row is a whole net

  [[nodiscard]] std::int64_t num_rows() const { return first_row.back(); }
};

// Refuses sizes that disagree, lengths and operations outside, numbers that are not finite or too small.
void check(const NetTable& table);

// Mendoza and Wang: one row for each net. For each of `most_nodes` places the operation, one of kNetOperations, and the
// weight count; then the adjacency matrix, row by row. Refuses deeper nets.
[[nodiscard]] std::int64_t num_flat_columns(std::int64_t most_nodes);
[[nodiscard]] NetRows flat_rows(const NetTable& table, std::int64_t most_nodes);

// One row for each layer: logarithms of its sizes, of its neighbours' and of the net's. Needs base_s.
[[nodiscard]] NetRows layer_rows(const NetTable& table);
[[nodiscard]] std::vector<std::string> layer_columns();

// A number that differs where anything does that rows are made of, or a target.
[[nodiscard]] std::uint64_t fingerprint(const NetTable& table);

}  // namespace latpred
