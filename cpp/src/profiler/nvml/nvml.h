#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "profiler/found_library.h"

namespace latpred::nvml {

using DeviceHandle = struct DeviceObject*;

// nvmlMemory_v2_t
struct MemoryInfo {
  unsigned int version;
  unsigned long long total;
  unsigned long long reserved;
  unsigned long long free;
  unsigned long long used;
};
// nvmlProcessInfo_v2_t
struct ProcessInfo {
  unsigned int pid;
  unsigned long long used_bytes;
  unsigned int gpu_instance;
  unsigned int compute_instance;
};

// NVIDIA's management library. Members carry NVIDIA's names.
struct Library : FoundLibrary {
  static constexpr Words kWords{
      "NVIDIA's management library (NVML)",
      "it comes with the driver; without it there are no clocks, no energy and no memory of processes"};

  explicit Library(const std::string& path);
  ~Library() override;
  [[noreturn]] void fail(const char* function, int code) const override;

  LibraryFunction<> nvmlInit{*this, "nvmlInit_v2"};
  LibraryFunction<> nvmlShutdown{*this, "nvmlShutdown"};
  LibraryFunction<char*, unsigned int> nvmlSystemGetDriverVersion{*this, "nvmlSystemGetDriverVersion"};
  LibraryFunction<const char*, DeviceHandle*> nvmlDeviceGetHandleByUUID{*this, "nvmlDeviceGetHandleByUUID"};
  LibraryFunction<const char*, DeviceHandle*> nvmlDeviceGetHandleByPciBusId{*this, "nvmlDeviceGetHandleByPciBusId_v2"};
  LibraryFunction<DeviceHandle, int, unsigned int*> nvmlDeviceGetClockInfo{*this, "nvmlDeviceGetClockInfo"};
  LibraryFunction<DeviceHandle, int, unsigned int*> nvmlDeviceGetTemperature{*this, "nvmlDeviceGetTemperature"};
  LibraryFunction<DeviceHandle, unsigned int*> nvmlDeviceGetPowerUsage{*this, "nvmlDeviceGetPowerUsage"};
  LibraryFunction<DeviceHandle, unsigned int*> nvmlDeviceGetEnforcedPowerLimit{*this,
                                                                               "nvmlDeviceGetEnforcedPowerLimit"};
  LibraryFunction<DeviceHandle, unsigned long long*> nvmlDeviceGetTotalEnergyConsumption{
      *this, "nvmlDeviceGetTotalEnergyConsumption"};
  // Before driver 535 clocks had throttle reasons, with the same bits.
  LibraryFunction<DeviceHandle, unsigned long long*> nvmlDeviceGetCurrentClocksEventReasons{
      *this, "nvmlDeviceGetCurrentClocksEventReasons", "driver 384", "nvmlDeviceGetCurrentClocksThrottleReasons"};
  LibraryFunction<DeviceHandle, MemoryInfo*> nvmlDeviceGetMemoryInfo_v2{*this, "nvmlDeviceGetMemoryInfo_v2",
                                                                        "driver 510"};
  LibraryFunction<DeviceHandle, unsigned int*, ProcessInfo*> nvmlDeviceGetComputeRunningProcesses{
      *this, "nvmlDeviceGetComputeRunningProcesses_v3", "driver 510"};
  const char* (*nvmlErrorString)(int) = nullptr;

 private:
  bool is_initialized_ = false;
};

// nvmlMemory_v2: the size of the struct, and its version in the third byte.
inline constexpr unsigned int kMemoryInfoVersion = sizeof(MemoryInfo) | (2U << 24);

// One GPU. Numbers that it cannot give are empty, whatever the reason: boards, instances and containers hide different
// ones.
class Device {
 public:
  // By identifier, since NVML counts in another order than CUDA. Throws ProfilerError.
  Device(std::shared_ptr<const Library> library, const std::string& uuid, const std::string& pci_bus_id);

  [[nodiscard]] std::string driver_version() const;
  [[nodiscard]] std::optional<double> sm_clock_hz() const;
  [[nodiscard]] std::optional<double> memory_clock_hz() const;
  [[nodiscard]] std::optional<double> temperature_celsius() const;
  [[nodiscard]] std::optional<double> power_w() const;
  [[nodiscard]] std::optional<double> power_limit_w() const;
  [[nodiscard]] std::optional<double> energy_j() const;  // since the driver was loaded
  [[nodiscard]] std::optional<std::uint64_t> clock_reasons() const;
  [[nodiscard]] std::optional<MemoryInfo> memory() const;
  [[nodiscard]] std::optional<std::int64_t> process_bytes(unsigned int pid) const;

 private:
  std::shared_ptr<const Library> library_;
  DeviceHandle handle_ = nullptr;
};

// In words; `throttling_only`: of those that slow the GPU down.
[[nodiscard]] std::vector<std::string> reason_names(std::uint64_t reasons, bool throttling_only);

}  // namespace latpred::nvml
