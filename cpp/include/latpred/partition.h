#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "latpred/device.h"

namespace latpred {

// A part of a device, or all of it.
struct Partition {
  std::string name;  // "2g.10gb", "50%", "32sm"; empty: the whole device
  double sms = 0;
  double sm_share = 1;         // of the device's
  double memory_bytes = 0;     // usable
  double bandwidth_share = 1;  // of the memory slices
  double l2_share = 1;
  int max_instances = 1;  // how many fit on one device

  // What its memory slices and its SMs can move: min(share of the device, SMs x per-SM bandwidth).
  [[nodiscard]] double bandwidth_bytes_per_s(const Device& device) const;
};

// `name` empty: the whole device. Throws InvalidArgumentError naming the device's profiles and the forms accepted.
[[nodiscard]] Partition partition(const Device& device, std::string_view name);
// The MIG profiles of `device`, smallest first (fewest SMs, then least memory); empty where it has none.
[[nodiscard]] const std::vector<Partition>& mig_profiles(const Device& device);

}  // namespace latpred
