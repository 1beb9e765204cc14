#pragma once

#include <cstdint>
#include <span>

namespace latpred {

// Measured calls and the kernels that each of them ran, as another owns them. Knows nothing of torch. Seconds, bytes.
// N calls, K kernels, U different inputs of kernels. Of devices, chips, versions, launches, hosts and kinds of host
// calls, 0 stands for none: its effects are off.
struct KernelRows {
  std::span<const double> inputs;            // [U, F], row-major
  std::span<const std::int64_t> input_kind;  // [U]
  std::int64_t num_columns = 0;              // F
  std::int64_t num_kinds = 0;

  std::span<const std::int64_t> first_kernel;  // [N + 1]: the kernels of call n are first_kernel[n] to [n + 1]
  std::span<const std::int64_t> input;         // [K], index into U
  std::span<const double> count;               // [K]
  // [K], as KernelTerms
  std::span<const double> compute_s;
  std::span<const double> wave_factor;
  std::span<const double> activation_bytes;
  std::span<const double> weight_bytes;
  std::span<const double> bandwidth_bytes_per_s;
  std::span<const double> l2_bytes;
  std::span<const double> least_compute_s;
  std::span<const double> least_memory_s;
  std::span<const std::int64_t> units;
  std::span<const std::int64_t> library;
  std::span<const double> gap_scale;
  std::span<const double> cycles_per_byte;
  std::span<const std::int64_t> memory_kind;
  std::span<const std::int64_t> host_kind;  // what the host launches, where it takes an operator's own time
  std::span<const double> host_weight;      // what is known of that time beforehand, over the runtime's for a launch

  std::int64_t num_devices = 0;  // none not counted, as below
  std::int64_t num_chips = 0;
  std::int64_t num_versions = 0;
  std::int64_t num_launches = 0;  // pairs of a chip and a runtime
  std::int64_t num_hosts = 0;
  std::int64_t num_host_kinds = 0;
  std::int64_t num_host_columns = 0;   // H
  std::span<const double> version_sd;  // [num_versions] prior deviation of what a version does to kernels, log scale
  std::span<const double> version_gap_sd;  // [num_versions] and of the time between them
  std::span<const double> host_kind_sd;    // [num_host_kinds] prior deviation of the time from the weight, log scale
  std::span<const double> host_columns;    // [N, H], row-major: what is known of a host, such as the age of its device
  std::span<const double> host_column_sd;  // [H] prior deviation of what one unit changes, log scale
  std::int64_t view_kind = 0;              // of the host's calls that launch nothing
  // [N]
  std::span<const double> view_weight;  // what is known beforehand of the time for these calls, as host_weight
  std::span<const double> host_s;       // the host's time for all launches
  std::span<const double> copy_s;       // in which the input travels to the device, before anything runs
  std::span<const std::int64_t> device;
  std::span<const std::int64_t> chip;
  std::span<const std::int64_t> version;
  std::span<const std::int64_t> launch;
  std::span<const std::int64_t> host;
  std::span<const double> latency_s;         // measured; empty where only a prediction is wanted
  std::span<const double> weight;            // likewise
  std::span<const std::int64_t> shows_host;  // likewise; 0: the host's time is learnt from other calls alone

  [[nodiscard]] std::int64_t num_rows() const { return static_cast<std::int64_t>(first_kernel.size()) - 1; }
  [[nodiscard]] std::int64_t num_inputs() const { return static_cast<std::int64_t>(input_kind.size()); }
};

}  // namespace latpred
