#include "profiler/nvml/nvml.h"

#include <array>
#include <utility>

#include "latpred/text.h"
#include "latpred/unit_prefixes.h"

namespace latpred::nvml {
namespace {

// nvmlReturn_t
constexpr int kSuccess = 0;
constexpr int kInsufficientSize = 7;

constexpr int kSmClock = 1;         // NVML_CLOCK_SM
constexpr int kMemoryClock = 2;     // NVML_CLOCK_MEM
constexpr int kDieTemperature = 0;  // NVML_TEMPERATURE_GPU
constexpr double kPerMilli = 1e-3;

// NVML_VALUE_NOT_AVAILABLE, as the unsigned fields hold it.
constexpr unsigned long long kNotAvailable = ~0ULL;
// Processes may start between asking how many there are and asking which.
constexpr unsigned int kSpareProcesses = 16;

struct ClockReason {
  std::uint64_t bit;  // nvmlClocksEventReasons
  const char* name;
  bool is_throttling;
};
constexpr ClockReason kClockReasons[] = {
    {0x001, "gpu idle", false},
    {0x002, "application clocks", false},
    {0x004, "power cap", true},
    {0x008, "hardware slowdown", true},
    {0x010, "sync boost", true},
    {0x020, "software thermal slowdown", true},
    {0x040, "hardware thermal slowdown", true},
    {0x080, "power brake", true},
    {0x100, "display clocks", false},
    {0x200, "board limit", true},
    {0x400, "reliability limit", true},
};

template <typename Value, typename Get>
std::optional<Value> ask(const Get& get) {
  Value value{};
  if (get(&value) != kSuccess) return std::nullopt;
  return value;
}

// In units of `unit`.
std::optional<double> scaled(std::optional<unsigned int> value, double unit) {
  if (!value) return std::nullopt;
  return *value * unit;
}

}  // namespace

Library::Library(const std::string& path) : FoundLibrary(path, kWords) {
  nvmlErrorString = reinterpret_cast<const char* (*)(int)>(find("nvmlErrorString"));
  if (nvmlErrorString == nullptr) fail_missing("nvmlErrorString", nullptr);
  nvmlInit();
  is_initialized_ = true;
}

Library::~Library() {
  if (is_initialized_) (void)nvmlShutdown.result();
}

void Library::fail(const char* function, int code) const {
  const char* text = nvmlErrorString == nullptr ? nullptr : nvmlErrorString(code);
  throw ProfilerError(concat(function, " failed with code ", code, ": ", text == nullptr ? "unknown error" : text,
                             "; check that nvidia-smi answers, and that the container may see the GPU"));
}

Device::Device(std::shared_ptr<const Library> library, const std::string& uuid, const std::string& pci_bus_id)
    : library_(std::move(library)) {
  if (library_->nvmlDeviceGetHandleByUUID.result(uuid.c_str(), &handle_) == kSuccess) return;
  library_->nvmlDeviceGetHandleByPciBusId(pci_bus_id.c_str(), &handle_);
}

std::string Device::driver_version() const {
  std::array<char, 80> text{};  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE
  if (library_->nvmlSystemGetDriverVersion.result(text.data(), text.size()) != kSuccess) return "";
  return text.data();
}

std::optional<double> Device::sm_clock_hz() const {
  return scaled(
      ask<unsigned int>([&](auto* value) { return library_->nvmlDeviceGetClockInfo.result(handle_, kSmClock, value); }),
      kMega);
}

std::optional<double> Device::memory_clock_hz() const {
  return scaled(ask<unsigned int>(
                    [&](auto* value) { return library_->nvmlDeviceGetClockInfo.result(handle_, kMemoryClock, value); }),
                kMega);
}

std::optional<double> Device::temperature_celsius() const {
  return scaled(ask<unsigned int>([&](auto* value) {
                  return library_->nvmlDeviceGetTemperature.result(handle_, kDieTemperature, value);
                }),
                1);
}

std::optional<double> Device::power_w() const {
  return scaled(
      ask<unsigned int>([&](auto* value) { return library_->nvmlDeviceGetPowerUsage.result(handle_, value); }),
      kPerMilli);
}

std::optional<double> Device::power_limit_w() const {
  return scaled(
      ask<unsigned int>([&](auto* value) { return library_->nvmlDeviceGetEnforcedPowerLimit.result(handle_, value); }),
      kPerMilli);
}

std::optional<double> Device::energy_j() const {
  const auto millijoules = ask<unsigned long long>(
      [&](auto* value) { return library_->nvmlDeviceGetTotalEnergyConsumption.result(handle_, value); });
  if (!millijoules) return std::nullopt;
  return static_cast<double>(*millijoules) * kPerMilli;
}

std::optional<std::uint64_t> Device::clock_reasons() const {
  if (!library_->nvmlDeviceGetCurrentClocksEventReasons.is_there()) return std::nullopt;
  return ask<unsigned long long>(
      [&](auto* value) { return library_->nvmlDeviceGetCurrentClocksEventReasons.result(handle_, value); });
}

std::optional<MemoryInfo> Device::memory() const {
  if (!library_->nvmlDeviceGetMemoryInfo_v2.is_there()) return std::nullopt;
  return ask<MemoryInfo>([&](auto* value) {
    value->version = kMemoryInfoVersion;
    return library_->nvmlDeviceGetMemoryInfo_v2.result(handle_, value);
  });
}

std::optional<std::int64_t> Device::process_bytes(unsigned int pid) const {
  const auto& processes = library_->nvmlDeviceGetComputeRunningProcesses;
  if (!processes.is_there()) return std::nullopt;
  unsigned int count = 0;
  const int counted = processes.result(handle_, &count, nullptr);
  if (counted != kSuccess && counted != kInsufficientSize) return std::nullopt;
  count += kSpareProcesses;
  std::vector<ProcessInfo> rows(count);
  if (processes.result(handle_, &count, rows.data()) != kSuccess) return std::nullopt;
  rows.resize(count);
  for (const ProcessInfo& row : rows) {
    if (row.pid == pid && row.used_bytes != kNotAvailable) return static_cast<std::int64_t>(row.used_bytes);
  }
  return std::nullopt;
}

std::vector<std::string> reason_names(std::uint64_t reasons, bool throttling_only) {
  std::vector<std::string> names;
  for (const ClockReason& row : kClockReasons) {
    if ((reasons & row.bit) != 0 && (row.is_throttling || !throttling_only)) names.emplace_back(row.name);
  }
  return names;
}

}  // namespace latpred::nvml
