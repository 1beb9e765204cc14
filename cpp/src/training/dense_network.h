#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "batch/net_rows.h"
#include "predictors/dense_config.h"
#include "predictors/packed_dense.h"
#include "training/named_arrays.h"

namespace latpred {

// Brings features to mean 0 and deviation 1 over the rows that a network is trained on, and seconds to its outputs.
struct DenseScale {
  std::vector<double> mean, deviation;  // [F]
  double target_mean = 0;
  double target_deviation = 1;
};
[[nodiscard]] DenseScale scale_of(const NetRows& rows, std::span<const double> target_s, bool are_summed);

// Rows as the loops take them.
struct DenseBatch {
  std::vector<float> rows;              // [R, padded F]
  std::vector<std::int64_t> first_row;  // [G + 1]
  std::vector<double> log_base;         // [R], or empty
};

// A dense network with its parameters and scales: what trainer and regressor share.
class DenseNetwork {
 public:
  DenseNetwork(const DenseConfig& config, std::int64_t num_features);

  void draw(std::uint64_t seed);  // He's uniform rule
  void parameters_changed() { packed_.set_parameters(parameters); }

  [[nodiscard]] DenseBatch batch(const NetRows& rows) const;
  [[nodiscard]] std::vector<double> predict(const NetTable& table) const;  // [G] seconds

  // A net's output from those of its rows, and the share of each row in its slope.
  [[nodiscard]] double read_out(std::span<const float> outputs, const double* log_base, std::span<float> shares) const;
  [[nodiscard]] double target(double seconds) const;
  [[nodiscard]] double seconds(double output) const;

  // One array that is laid out as the parameters, by layers and without padding, with `prefix` before each name.
  void store_values(std::span<const float> values, const std::string& prefix, NamedArrays& arrays) const;
  void restore_values(const NamedArrays& arrays, const std::string& prefix, std::span<float> values) const;
  void store(NamedArrays& arrays) const;
  void restore(const NamedArrays& arrays);

  [[nodiscard]] const DenseConfig& config() const { return config_; }
  [[nodiscard]] const PackedDense& packed() const { return packed_; }

  AlignedFloats parameters;
  DenseScale scale;

 private:
  DenseConfig config_;
  bool are_summed_;
  std::int64_t num_features_;
  PackedDense packed_;
};

}  // namespace latpred
