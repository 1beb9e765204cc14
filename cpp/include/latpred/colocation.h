#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "latpred/device.h"
#include "latpred/kernel.h"
#include "latpred/partition.h"

namespace latpred {

// What one network asks of its share of a device while nothing runs beside it. Shares are of its latency.
struct ResourceProfile {
  double latency_s = 0;
  double busy_share = 1;    // in which the device works for it: the rest it waits for its host
  double sm_share = 1;      // of all multiprocessors x all of its latency: small kernels leave some of them idle
  double memory_share = 0;  // that the traffic alone would take
};

// `busy_s`: of the latency. Throws InvalidArgumentError for a device without peaks, and for times that are none.
[[nodiscard]] ResourceProfile resource_profile(const Kernels& kernels, const Device& device, const Partition& partition,
                                               double latency_s, double busy_s);

// What the latency on one core of a processor, as a device, is fitted to: seconds of dense arithmetic, of grouped
// convolutions, of traffic, and the number of kernels.
[[nodiscard]] std::vector<double> core_times(const Kernels& kernels, const Device& core);

// A member of a co-location and what runs beside it.
struct Situation {
  const ResourceProfile& target;
  const std::vector<ResourceProfile>& neighbours;
};

// A number that grows with what the neighbours take away. Non-negative, 0 where nothing runs beside the target.
struct InterferenceTerm {
  std::string_view name;
  std::string_view description;
  double (*value)(const Situation&);
};

// A way to share a device. The slow-down of a member is 1 + sum of coefficient x term.
struct SharingMode {
  std::string_view name;
  std::string_view description;
  bool on_gpus = false;
  bool on_cpus = false;
  std::vector<InterferenceTerm> terms;
};
[[nodiscard]] const std::vector<SharingMode>& sharing_modes();
// Throws InvalidArgumentError with the nearest name and the list.
[[nodiscard]] const SharingMode& sharing_mode(std::string_view name);

// [T] the terms of member `target` beside all others.
[[nodiscard]] std::vector<double> interference(const SharingMode& mode, const std::vector<ResourceProfile>& members,
                                               std::size_t target);
// 1 + coefficients x terms; both [T].
[[nodiscard]] double slow_down(const std::vector<double>& coefficients, const std::vector<double>& terms);
// The non-negative coefficients [T] whose slow-downs are nearest to the measured ones [N] by the mean absolute error;
// `terms` is [N, T]. More interference never makes anything faster.
[[nodiscard]] std::vector<double> fit_interference(const std::vector<std::vector<double>>& terms,
                                                   const std::vector<double>& slow_downs);

}  // namespace latpred
