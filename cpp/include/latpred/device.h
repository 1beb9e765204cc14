#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "latpred/kernel.h"

namespace latpred {

// A number with its pedigree: read somewhere, or worked out by a stated rule.
struct Fact {
  double value = 0;
  bool estimated = false;
};

// Hardware that latency is predicted for. Empty means unknown, never zero.
struct Device {
  std::string name;         // the table's: "A100-SXM4-40GB"
  std::string vendor_name;  // what the driver reports
  std::string architecture;
  bool is_gpu = true;
  std::optional<int> compute_capability;  // major * 10 + minor: 80
  double sms = 0;                         // streaming multiprocessors; cores of a CPU
  std::optional<double> cuda_cores;
  std::optional<double> tensor_cores;
  std::optional<double> clock_hz;  // boost
  double memory_bytes = 0;
  std::string memory_type;
  std::optional<double> memory_bus_bits;
  std::optional<double> memory_clock_hz;
  double bandwidth_bytes_per_s = 0;        // data sheet
  std::optional<double> l2_bytes;          // of a CPU: its last-level cache
  std::optional<double> fp32_flops_per_s;  // data-sheet peaks, dense
  std::optional<double> tf32_flops_per_s;
  std::optional<double> fp16_flops_per_s;
  std::optional<double> bf16_flops_per_s;
  std::optional<double> int8_ops_per_s;
  std::optional<double> fp8_flops_per_s;
  std::optional<double> power_limit_w;
  bool has_mig = false;
  Fact sustained_share;               // of the data-sheet peak that a long run holds; above 1: beyond the rated boost
  Fact bandwidth_bytes_per_s_per_sm;  // what one SM can pull
  Fact idle_power_w;
  Fact context_bytes;  // driver context and loaded libraries
  std::string source;
  std::string note;

  // Data-sheet peak of `arithmetic`; where the device has no such units, the peak of the fallback that runs instead
  // (tf32 -> fp32, ...), and nothing where neither is known.
  [[nodiscard]] std::optional<double> peak_flops_per_s(Arithmetic arithmetic) const;
};

// Whether the device itself computes in `arithmetic`, without falling back.
[[nodiscard]] bool has_units(const Device& device, Arithmetic arithmetic);

[[nodiscard]] const std::vector<Device>& devices();
// By table name, vendor name or alias ("A100"); throws InvalidArgumentError with the nearest name and the list.
[[nodiscard]] const Device& device(std::string_view name);
// The machine that this runs on, by what its system says of it. Peaks, bandwidth and power are not known from there, so
// that no predictor that starts from physics can answer for it. The result's name is the processor's.
[[nodiscard]] Device host_device(std::string processor, double cores, double memory_bytes,
                                 std::optional<double> last_cache_bytes);
// Alias and the table name that it stands for.
[[nodiscard]] const std::vector<std::pair<std::string, std::string>>& device_aliases();

}  // namespace latpred
