#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "batch/net_rows.h"
#include "predictors/dense_config.h"
#include "training/named_arrays.h"

namespace latpred {

// A trained dense network over plain nets behind plain numbers: this header and those below include no torch.
class DenseRegressor {
 public:
  // `arrays`: what a trainer's arrays() gave; refuses names and shapes that do not fit the config.
  DenseRegressor(const DenseConfig& config, const NamedArrays& arrays);
  ~DenseRegressor();
  DenseRegressor(DenseRegressor&&) noexcept;

  [[nodiscard]] std::vector<double> predict(const NetTable& table) const;  // [G] seconds
  [[nodiscard]] const DenseConfig& config() const;
  [[nodiscard]] std::int64_t num_parameters() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Trains a dense network epoch by epoch, on the calling thread. Equal configs, seeds and nets give equal numbers, and a
// training that was stored and taken up again equals one that was not.
class DenseTrainer {
 public:
  DenseTrainer(const DenseConfig& config, std::uint64_t seed);
  ~DenseTrainer();
  DenseTrainer(DenseTrainer&&) noexcept;

  // One pass over all nets in an order of its own; the mean loss. The first call takes the scales from the table, and
  // every later one must have the same.
  double fit_epoch(const NetTable& table);
  [[nodiscard]] std::vector<double> predict(const NetTable& table) const;

  [[nodiscard]] NamedArrays arrays() const;  // what predicts: parameters and scales
  // All that training goes on from: arrays(), Adam's moments, epochs done, seed, the config's numbers and the table's
  // fingerprint.
  [[nodiscard]] NamedArrays state() const;
  // Refuses a state of another config or seed.
  void load_state(const NamedArrays& state);

  [[nodiscard]] const DenseConfig& config() const;
  [[nodiscard]] std::int64_t epochs_done() const;
  [[nodiscard]] std::int64_t num_parameters() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace latpred
