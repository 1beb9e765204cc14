#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "latpred/device.h"
#include "latpred/features.h"
#include "latpred/partition.h"

namespace latpred {

// Board energy of one call.
struct EnergyEstimate {
  double energy_j = 0;
  double mean_power_w = 0;
  double lower_j = 0;               // idle power x latency (the partition's share)
  double upper_j = 0;               // power limit x latency (the partition's share)
  double power_log_half_width = 0;  // of mean_power_w: an 80 % interval on the log scale
  // Where mean_power_w comes from: "fitted" on the board whose power was fitted and for what ran there, "extrapolated"
  // on that board for anything else, "modelled" elsewhere.
  std::string_view provenance;
};

// `kernel_s` [K]: predicted seconds of each kernel row, repeats included; `latency_s`: the whole call, host waits
// included. Nothing where the device's power limit is unknown.
[[nodiscard]] std::optional<EnergyEstimate> estimate_energy(const Kernels& kernels, const Features& features,
                                                            const std::vector<double>& kernel_s, double latency_s,
                                                            const Device& device, const Partition& partition);

// Energy is power times time, and known no better than either.
[[nodiscard]] std::string_view energy_provenance(const EnergyEstimate& estimate, std::string_view latency_provenance);

}  // namespace latpred
