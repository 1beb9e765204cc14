#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "batch/graph_table.h"
#include "predictors/graph_config.h"
#include "training/named_arrays.h"

namespace latpred {

// What a graph neural network says of G graphs; empty what its task does not have.
struct GraphAnswers {
  std::vector<double> fusible;  // [E] probability of each edge
  std::vector<double> targets;  // [G, T] in their own units
  std::vector<double> types;    // [G, K] probabilities
};

// How much nodes attend to one another, layer by layer; empty without attention.
struct GraphAttention {
  std::vector<std::int64_t> edges;         // [2, e]: sources, then targets; with one from each node to itself
  std::vector<std::vector<float>> shares;  // of each layer [e, heads]
};

// Losses while the learning rate grows, as Smith (2017) finds one.
struct LearningRates {
  std::vector<double> rates;
  std::vector<double> losses;                                  // smoothed
  double steepest = std::numeric_limits<double>::quiet_NaN();  // the rate where the loss falls fastest; NaN: nowhere
};

// A trained graph neural network behind plain numbers: this header and those below include no torch.
class GraphPredictor {
 public:
  // `arrays`: what a trainer's arrays() gave; refuses names and shapes that do not fit.
  GraphPredictor(const GraphConfig& config, const GraphSizes& sizes, const NamedArrays& arrays);
  ~GraphPredictor();
  GraphPredictor(GraphPredictor&&) noexcept;

  [[nodiscard]] GraphAnswers predict(const GraphTable& table) const;
  [[nodiscard]] GraphAttention attention(const GraphTable& table) const;
  [[nodiscard]] const GraphConfig& config() const;
  [[nodiscard]] const GraphSizes& sizes() const;
  [[nodiscard]] std::int64_t num_parameters() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Trains a graph neural network epoch by epoch. Equal configs, seeds and graphs give equal numbers, and a training that
// was stored and taken up again equals one that was not.
class GraphTrainer {
 public:
  GraphTrainer(const GraphConfig& config, const GraphSizes& sizes, std::uint64_t seed);
  ~GraphTrainer();
  GraphTrainer(GraphTrainer&&) noexcept;

  // One pass over all graphs in an order of its own; the mean loss of its batches. The first call takes the scales from
  // the table, and every later one must have the same.
  double fit_epoch(const GraphTable& table);
  // The mean loss of batches in the table's order, nothing dropped.
  [[nodiscard]] double loss(const GraphTable& table) const;
  // From this trainer's weights, which stay as they are: `steps` batches while the rate grows from `lowest` to
  // `highest`, fewer where the loss explodes.
  [[nodiscard]] LearningRates find_learning_rate(const GraphTable& table, double lowest, double highest,
                                                 std::int64_t steps) const;

  [[nodiscard]] GraphAnswers predict(const GraphTable& table) const;
  [[nodiscard]] GraphAttention attention(const GraphTable& table) const;

  // What predicts: parameters and scales.
  [[nodiscard]] NamedArrays arrays() const;
  // All that training goes on from; random numbers come from seed and step alone.
  [[nodiscard]] NamedArrays state() const;
  // Refuses a state of another config, of other sizes or of another seed.
  void load_state(const NamedArrays& state);

  [[nodiscard]] const GraphConfig& config() const;
  [[nodiscard]] const GraphSizes& sizes() const;
  [[nodiscard]] std::uint64_t seed() const;
  [[nodiscard]] std::int64_t epochs_done() const;
  [[nodiscard]] std::int64_t num_parameters() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace latpred
