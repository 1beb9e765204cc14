#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "predictors/aligned_floats.h"
#include "predictors/graph_network.h"
#include "training/named_arrays.h"

namespace latpred {

// A GraphNetwork whose parameters and gradients are views of one array each: one loop makes a step of Adam.
class FlatNetwork {
 public:
  FlatNetwork(const GraphConfig& config, const GraphSizes& sizes, std::uint64_t seed);

  [[nodiscard]] GraphNetwork& network() { return *network_; }
  [[nodiscard]] const GraphNetwork& network() const { return *network_; }
  [[nodiscard]] std::int64_t num_parameters() const { return num_parameters_; }

  // The loss of a batch after one step of Adam against it; `steps_done` before it.
  double step(const GraphBatch& batch, double rate, std::int64_t steps_done, std::uint64_t seed);

  // Parameters and scales as arrays, and back; names and shapes that do not fit are refused before any is taken.
  [[nodiscard]] NamedArrays arrays() const;
  void load_arrays(const NamedArrays& arrays);
  // Adam's moments likewise.
  void store_moments(NamedArrays& arrays) const;
  void load_moments(const NamedArrays& arrays);
  // All of another network of the same config and sizes.
  void copy_from(const FlatNetwork& other);

 private:
  [[nodiscard]] NamedArrays arrays_in(const AlignedFloats& values, const std::string& prefix) const;
  [[nodiscard]] AlignedFloats values_from(const NamedArrays& arrays, const std::string& prefix) const;

  struct Slot {
    std::string name;
    std::vector<std::int64_t> shape;
    std::int64_t offset = 0;
    std::int64_t size = 0;
  };
  std::unique_ptr<GraphNetwork> network_;
  std::vector<Slot> slots_;
  std::int64_t num_parameters_ = 0;
  AlignedFloats values_, gradients_, first_moment_, second_moment_;
};

}  // namespace latpred
