#include "latpred/alike_networks.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "latpred/error.h"
#include "latpred/kernel_terms.h"
#include "latpred/text.h"

namespace latpred {
namespace {

constexpr std::string_view kName = "alike_networks";  // of the manifest's entry and of the array
constexpr std::int64_t kNumSums = 3;                  // behind the signature: calls, off, rest

double squared_distance(const AlikeNetworks::Signature& one, const AlikeNetworks::Signature& other) {
  double squared = 0;
  for (std::size_t kind = 0; kind < kNumCostKinds; ++kind) {
    const double difference = one[kind] - other[kind];
    squared += difference * difference;
  }
  return squared;
}

}  // namespace

AlikeNetworks::AlikeNetworks(const Checkpoint& checkpoint) {
  const Json* entry = checkpoint.manifest.find(kName);
  if (entry == nullptr) return;
  const auto positive = [&](std::string_view name) {
    return positive_number(concat(kName, ": ", name), entry->at(name));
  };
  width_ = positive("width");
  shrinkage_ = positive("shrinkage");
  shrinkage_there_ = positive("shrinkage_there");
  std::size_t end = 0;
  for (const Json& place : entry->at("places").array()) {
    const std::int64_t count = place.at("points").integer();
    if (count < 0) throw CheckpointError(concat(kName, ": a place has ", count, " points"));
    there_[place.at("place").text()] = {end, end + static_cast<std::size_t>(count)};
    end += static_cast<std::size_t>(count);
  }
  const std::vector<double>& values = checkpoint.array(
      std::string(kName), {static_cast<std::int64_t>(kNumCostKinds) + kNumSums, static_cast<std::int64_t>(end)});
  const auto value = [&](std::size_t row, std::size_t point) { return values[row * end + point]; };
  points_.resize(end);
  for (std::size_t p = 0; p < end; ++p) {
    Point& point = points_[p];
    for (std::size_t kind = 0; kind < kNumCostKinds; ++kind) point.signature[kind] = value(kind, p);
    point.count = value(kNumCostKinds, p);
    point.off = value(kNumCostKinds + 1, p);
    point.rest = value(kNumCostKinds + 2, p);
    if (point.count < 0) throw CheckpointError(concat(kName, ": a point has ", point.count, " calls"));
  }
}

AlikeNetworks::Signature AlikeNetworks::signature_of(const LatencyInput& input) {
  Signature signature{};
  double total_s = 0;
  for (const Kernel& kernel : input.kernels.rows) {
    const double seconds = nominal_s(kernel) * static_cast<double>(kernel.repeat);
    signature[static_cast<std::size_t>(starting_kind({kernel, input.device, input.runtime}))] += seconds;
    total_s += seconds;
  }
  for (double& share : signature) share = total_s > 0 ? std::sqrt(share / total_s) : 0;
  return signature;
}

AlikeNetworks::Range AlikeNetworks::there(const LatencyInput& input) const {
  const auto found = there_.find(concat(input.device.name, "|", input.kernels.runtime));
  return found == there_.end() ? Range{0, 0} : found->second;
}

double AlikeNetworks::distance_within(const LatencyInput& input, Range range) const {
  const Signature asked = signature_of(input);
  double nearest = std::numbers::sqrt2 * std::numbers::sqrt2;
  for (std::size_t p = range.first; p < range.second; ++p) {
    nearest = std::min(nearest, squared_distance(asked, points_[p].signature));
  }
  return std::sqrt(nearest);
}

double AlikeNetworks::distance(const LatencyInput& input) const { return distance_within(input, {0, points_.size()}); }

double AlikeNetworks::distance_there(const LatencyInput& input) const { return distance_within(input, there(input)); }

double AlikeNetworks::factor(const LatencyInput& input) const {
  if (points_.empty() || !input.device.is_gpu) return 1;
  const Signature asked = signature_of(input);
  const auto [first, end] = there(input);
  double off = 0;
  double count = shrinkage_;
  double rest = 0;
  double count_there = shrinkage_there_;
  for (std::size_t p = 0; p < points_.size(); ++p) {
    const Point& point = points_[p];
    const double near = std::exp(-squared_distance(asked, point.signature) / (2 * width_ * width_));
    off += near * point.off;
    count += near * point.count;
    if (p < first || p >= end) continue;
    rest += near * point.rest;
    count_there += near * point.count;
  }
  return std::exp(off / count + rest / count_there);
}

}  // namespace latpred
