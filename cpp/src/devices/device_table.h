#pragma once

#include <optional>
#include <span>

namespace latpred {

// One device as its data sheet prints it: MHz, GiB, TFLOPS; a field left out is unknown. device.cpp turns rows into
// Devices.
struct DeviceRow {
  const char* name;
  const char* vendor_name;
  const char* architecture;
  bool is_gpu = true;
  std::optional<int> compute_capability;
  double sms;
  std::optional<double> cuda_cores;
  std::optional<double> tensor_cores;
  std::optional<double> clock_mhz;
  double memory_gib;  // data sheets write GB and mean 2^30 bytes, as memory chips are counted
  const char* memory_type;
  std::optional<double> memory_bus_bits;
  std::optional<double> memory_clock_mhz;  // half the data rate, as the driver reports it
  double bandwidth_gb_per_s;
  std::optional<double> l2_mib;
  std::optional<double> fp32_tflops;
  std::optional<double> tf32_tflops;
  std::optional<double> fp16_tflops;
  std::optional<double> bf16_tflops;
  std::optional<double> int8_tops;
  std::optional<double> fp8_tflops;
  std::optional<double> power_limit_w;
  bool has_mig = false;
  std::optional<double> sustained_share;  // where the board is known not to hold its boost clock, or to run above it
  std::optional<double> idle_power_w;     // where the rule has nothing to start from
  const char* source;
  const char* note;
};

[[nodiscard]] std::span<const DeviceRow> server_gpu_rows();
[[nodiscard]] std::span<const DeviceRow> recent_server_gpu_rows();
[[nodiscard]] std::span<const DeviceRow> desktop_gpu_rows();
[[nodiscard]] std::span<const DeviceRow> cpu_rows();

}  // namespace latpred
