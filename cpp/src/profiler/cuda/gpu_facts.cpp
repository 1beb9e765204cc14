#include "profiler/cuda/gpu_facts.h"

#include <array>
#include <cstdio>

#include "latpred/text.h"
#include "latpred/unit_prefixes.h"

namespace latpred {
namespace {

constexpr std::size_t kNameLength = 256;
constexpr std::size_t kBusIdLength = 32;  // NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE

// A driver answers 0 where an attribute does not apply, and calls it invalid where it is newer than the driver.
std::optional<int> attribute(const cuda::Driver& driver, int which, cuda::Ordinal device) {
  int value = 0;
  const int code = driver.cuDeviceGetAttribute.result(&value, which, device);
  if (code != cuda::kSuccess && code != cuda::kInvalidValue) driver.fail("cuDeviceGetAttribute", code);
  if (code != cuda::kSuccess || value <= 0) return std::nullopt;
  return value;
}

int required_attribute(const cuda::Driver& driver, int which, cuda::Ordinal device) {
  int value = 0;
  driver.cuDeviceGetAttribute(&value, which, device);
  return value;
}

// As NVIDIA writes it, 8-4-4-4-12 digits.
std::string uuid_text(const cuda::Uuid& uuid, bool is_instance) {
  std::string text = is_instance ? "MIG-" : "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    std::array<char, 3> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x", static_cast<unsigned int>(uuid.bytes[i]));
    text += digits.data();
  }
  return text;
}

std::string fingerprint(const GpuFacts& facts) {
  const auto part = [](const auto& value, double unit, const char* text) {
    return value ? concat("; ", static_cast<double>(*value) / unit, text) : std::string();
  };
  return concat(facts.name, "; sm_", facts.compute_capability, "; ", facts.sms, " SMs",
                part(facts.clock_hz, kMega, " MHz"), part(facts.memory_clock_hz, kMega, " MHz memory"),
                part(facts.memory_bus_bits, 1, " bit"), part(facts.l2_bytes, kMebi, " MiB L2"), "; ",
                facts.memory_bytes / static_cast<std::int64_t>(kMebi), " MiB", part(facts.power_limit_w, 1, " W"),
                "; driver ", facts.driver_version.empty() ? "unknown" : facts.driver_version, ", CUDA ",
                facts.cuda_version / 1000, ".", facts.cuda_version % 1000 / 10, "; ", facts.uuid);
}

}  // namespace

GpuFacts driver_facts(const cuda::Driver& driver, cuda::Ordinal device, int index) {
  GpuFacts facts;
  facts.index = index;
  std::array<char, kNameLength> name{};
  driver.cuDeviceGetName(name.data(), static_cast<int>(name.size()), device);
  facts.name = name.data();
  cuda::Uuid uuid{};
  driver.cuDeviceGetUuid(&uuid, device);
  // The driver gives both kinds of identifier alike; an instance has its profile in its name.
  facts.uuid = uuid_text(uuid, facts.name.find(" MIG ") != std::string::npos);
  std::array<char, kBusIdLength> bus_id{};
  driver.cuDeviceGetPCIBusId(bus_id.data(), static_cast<int>(bus_id.size()), device);
  facts.pci_bus_id = bus_id.data();
  facts.compute_capability = required_attribute(driver, cuda::kComputeCapabilityMajor, device) * 10 +
                             required_attribute(driver, cuda::kComputeCapabilityMinor, device);
  facts.sms = required_attribute(driver, cuda::kMultiprocessorCount, device);
  std::size_t memory_bytes = 0;
  driver.cuDeviceTotalMem(&memory_bytes, device);
  facts.memory_bytes = static_cast<std::int64_t>(memory_bytes);
  if (const auto clock = attribute(driver, cuda::kClockRate, device)) facts.clock_hz = *clock * kKilo;
  if (const auto clock = attribute(driver, cuda::kMemoryClockRate, device)) facts.memory_clock_hz = *clock * kKilo;
  facts.memory_bus_bits = attribute(driver, cuda::kMemoryBusWidth, device);
  if (const auto bytes = attribute(driver, cuda::kL2CacheSize, device)) facts.l2_bytes = *bytes;
  driver.cuDriverGetVersion(&facts.cuda_version);
  return facts;
}

NvmlFound find_nvml(const CudaLibraries& libraries, const GpuFacts& facts) {
  NvmlFound found;
  try {
    const auto library = std::make_shared<const nvml::Library>(libraries.nvml);
    found.device.emplace(library, facts.uuid, facts.pci_bus_id);
  } catch (const ProfilerError& error) {
    found.missing = error.what();
  }
  return found;
}

void complete_facts(GpuFacts& facts, const std::optional<nvml::Device>& nvml) {
  if (nvml) {
    facts.driver_version = nvml->driver_version();
    facts.power_limit_w = nvml->power_limit_w();
  }
  facts.fingerprint = fingerprint(facts);
}

}  // namespace latpred
