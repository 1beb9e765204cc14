#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "latpred/checkpoint.h"
#include "latpred/predictor.h"

namespace latpred {

// Measured networks much like the asked one, and what they were off, as fitting/alike_networks.py says and measures it.
// A network is what its kinds of kernels have of its nominal time, which is the same at every batch and on every
// device.
class AlikeNetworks {
 public:
  using Signature = std::array<double, kNumCostKinds>;  // square roots of shares

  AlikeNetworks() = default;  // no network was measured
  // What the checkpoint holds, which may be nothing.
  explicit AlikeNetworks(const Checkpoint& checkpoint);

  [[nodiscard]] bool empty() const { return points_.empty(); }
  static Signature signature_of(const LatencyInput& input);
  // To the nearest, of all devices or of those measured on the device by the runtime; at most sqrt(2), which is what it
  // is where there is none.
  [[nodiscard]] double distance(const LatencyInput& input) const;
  [[nodiscard]] double distance_there(const LatencyInput& input) const;
  // Of the latency: 1 far from all, and on CPUs, of which no network was measured.
  [[nodiscard]] double factor(const LatencyInput& input) const;

 private:
  struct Point {
    Signature signature{};
    double count = 0;  // calls near it
    double off = 0;    // the sum of log(measured / predicted)
    double rest = 0;   // of what all devices together leave of it
  };

  using Range = std::pair<std::size_t, std::size_t>;  // of points: first, end

  [[nodiscard]] Range there(const LatencyInput& input) const;
  [[nodiscard]] double distance_within(const LatencyInput& input, Range range) const;

  std::vector<Point> points_;
  std::map<std::string, Range, std::less<>> there_;  // by "device|runtime"
  double width_ = 1;
  double shrinkage_ = 1;
  double shrinkage_there_ = 1;
};

}  // namespace latpred
