#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "batch/token_table.h"
#include "predictors/transformer_config.h"
#include "training/named_arrays.h"

namespace latpred {

// A trained transformer behind plain numbers: this header and those below include no torch.
class TransformerRegressor {
 public:
  // `arrays`: what a trainer's arrays() gave; refuses names and shapes that do not fit the config.
  TransformerRegressor(const TransformerConfig& config, const NamedArrays& arrays);
  ~TransformerRegressor();
  TransformerRegressor(TransformerRegressor&&) noexcept;

  [[nodiscard]] std::vector<double> predict(const TokenTable& table) const;  // [G] seconds
  // [G, blocks, heads, N, N]: how much each node (row) attends to each other; 0 where either is padding.
  [[nodiscard]] std::vector<float> attention(const TokenTable& table) const;
  [[nodiscard]] const TransformerConfig& config() const;
  [[nodiscard]] std::int64_t num_parameters() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Trains a transformer epoch by epoch. Equal configs, seeds and graphs give equal numbers with any number of threads,
// and a training that was stored and taken up again equals one that was not.
class TransformerTrainer {
 public:
  TransformerTrainer(const TransformerConfig& config, std::uint64_t seed, int num_threads = 1);
  ~TransformerTrainer();
  TransformerTrainer(TransformerTrainer&&) noexcept;

  // One pass over all graphs in an order of its own; the mean loss of the scaled target, dropout on. The first call
  // takes the scales from the table, and every later one must have the same.
  double fit_epoch(const TokenTable& table);
  // The mean loss without dropout, of any table: for early stopping.
  [[nodiscard]] double loss(const TokenTable& table) const;

  [[nodiscard]] std::vector<double> predict(const TokenTable& table) const;
  [[nodiscard]] std::vector<float> attention(const TokenTable& table) const;

  // What predicts: parameters and scales.
  [[nodiscard]] NamedArrays arrays() const;
  // All that training goes on from: arrays(), Adam's moments, epochs done, seed, the config's numbers and the table's
  // fingerprint. Random numbers come from seed and step alone.
  [[nodiscard]] NamedArrays state() const;
  // Refuses a state of another config or seed.
  void load_state(const NamedArrays& state);

  [[nodiscard]] const TransformerConfig& config() const;
  [[nodiscard]] std::uint64_t seed() const;
  [[nodiscard]] std::int64_t epochs_done() const;
  [[nodiscard]] std::int64_t num_parameters() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace latpred
