#include "latpred/device.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "device_rules.h"
#include "device_table.h"
#include "latpred/error.h"
#include "latpred/text.h"
#include "latpred/unit_prefixes.h"

namespace latpred {
namespace {

std::optional<double> scaled(std::optional<double> value, double unit) {
  if (!value) return std::nullopt;
  return *value * unit;
}

Device make_device(const DeviceRow& row) {
  Device device;
  device.name = row.name;
  device.vendor_name = row.vendor_name;
  device.architecture = row.architecture;
  device.is_gpu = row.is_gpu;
  device.compute_capability = row.compute_capability;
  device.sms = row.sms;
  device.cuda_cores = row.cuda_cores;
  device.tensor_cores = row.tensor_cores;
  device.clock_hz = scaled(row.clock_mhz, kMega);
  device.memory_bytes = row.memory_gib * kGibi;
  device.memory_type = row.memory_type;
  device.memory_bus_bits = row.memory_bus_bits;
  device.memory_clock_hz = scaled(row.memory_clock_mhz, kMega);
  device.bandwidth_bytes_per_s = row.bandwidth_gb_per_s * kGiga;
  device.l2_bytes = scaled(row.l2_mib, kMebi);
  device.fp32_flops_per_s = scaled(row.fp32_tflops, kTera);
  device.tf32_flops_per_s = scaled(row.tf32_tflops, kTera);
  device.fp16_flops_per_s = scaled(row.fp16_tflops, kTera);
  device.bf16_flops_per_s = scaled(row.bf16_tflops, kTera);
  device.int8_ops_per_s = scaled(row.int8_tops, kTera);
  device.fp8_flops_per_s = scaled(row.fp8_tflops, kTera);
  device.power_limit_w = row.power_limit_w;
  device.has_mig = row.has_mig;
  device.sustained_share = {row.sustained_share.value_or(1.0), true};
  device.bandwidth_bytes_per_s_per_sm = bandwidth_per_sm_rule(device);
  device.idle_power_w = row.idle_power_w ? Fact{*row.idle_power_w, true} : idle_power_rule(device);
  device.context_bytes = context_rule(device);
  device.source = row.source;
  device.note = row.note;
  return device;
}

using Names = std::vector<std::pair<std::string, std::string>>;

// "nvidia a100-SXM4 40GB" and "A100-SXM4-40GB" are one name: case, spaces, dashes and the vendor make no difference.
std::string normalised(std::string_view name) {
  std::string result;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  constexpr std::string_view kVendor = "nvidia";
  if (result.starts_with(kVendor)) result.erase(0, kVendor.size());
  return result;
}

// The units that run an arithmetic on a device, tried in order: what a device lacks is done by the next.
using Peak = std::optional<double> Device::*;
struct Fallbacks {
  Arithmetic arithmetic;
  std::array<Peak, 2> units;
};
constexpr std::array<Fallbacks, kNumArithmetics> kFallbacks{{
    {Arithmetic::fp32, {&Device::fp32_flops_per_s, &Device::fp32_flops_per_s}},
    {Arithmetic::tf32, {&Device::tf32_flops_per_s, &Device::fp32_flops_per_s}},
    {Arithmetic::fp16, {&Device::fp16_flops_per_s, &Device::fp32_flops_per_s}},
    {Arithmetic::bf16, {&Device::bf16_flops_per_s, &Device::fp32_flops_per_s}},
    {Arithmetic::int8, {&Device::int8_ops_per_s, &Device::fp32_flops_per_s}},
}};

}  // namespace

std::optional<double> Device::peak_flops_per_s(Arithmetic arithmetic) const {
  const Fallbacks& row = kFallbacks.at(static_cast<std::size_t>(arithmetic));
  for (const Peak units : row.units) {
    if (this->*units) return this->*units;
  }
  return std::nullopt;
}

bool has_units(const Device& device, Arithmetic arithmetic) {
  const Peak own = kFallbacks.at(static_cast<std::size_t>(arithmetic)).units.front();
  return (device.*own).has_value();
}

const std::vector<Device>& devices() {
  static const std::vector<Device> table = [] {
    std::vector<Device> result;
    for (const auto rows : {server_gpu_rows(), recent_server_gpu_rows(), desktop_gpu_rows(), cpu_rows()}) {
      for (const DeviceRow& row : rows) result.push_back(make_device(row));
    }
    return result;
  }();
  return table;
}

const Names& device_aliases() {
  static const Names aliases{
      {"P100", "P100-PCIe-16GB"},
      {"V100", "V100-SXM2-16GB"},
      {"V100-16GB", "V100-SXM2-16GB"},
      {"V100-32GB", "V100-SXM2-32GB"},
      {"A100", "A100-SXM4-40GB"},
      {"A100-40GB", "A100-SXM4-40GB"},
      {"A100-80GB", "A100-SXM4-80GB"},
      {"H100", "H100-SXM5-80GB"},
      {"H100-PCIe", "H100-PCIe-80GB"},
      {"H100-NVL", "H100-NVL-94GB"},
      {"H200", "H200-SXM-141GB"},
      {"GH200", "GH200-96GB"},
      {"B200", "B200-SXM-180GB"},
      {"Orin", "Jetson AGX Orin 64GB"},
      {"TITAN X", "TITAN X (Pascal)"},
      {"2080 Ti", "RTX 2080 Ti"},
      {"3090", "RTX 3090"},
      {"4090", "RTX 4090"},
      {"5090", "RTX 5090"},
      {"1080 Ti", "GTX 1080 Ti"},
      {"A6000", "RTX A6000"},
      {"i9-10940X", "Core i9-10940X"},
  };
  return aliases;
}

const Device& device(std::string_view name) {
  const std::string wanted = normalised(name);
  for (const Device& row : devices()) {
    if (normalised(row.name) == wanted || normalised(row.vendor_name) == wanted) return row;
  }
  for (const auto& [alias, target] : device_aliases()) {
    if (normalised(alias) == wanted) return device(target);
  }
  std::vector<std::string> valid;
  for (const auto& [alias, target] : device_aliases()) valid.push_back(alias);
  for (const Device& row : devices()) valid.push_back(row.name);
  throw InvalidArgumentError(unknown_name_message("device", name, valid), {.valid = valid});
}

Device host_device(std::string processor, double cores, double memory_bytes, std::optional<double> last_cache_bytes) {
  if (processor.empty() || !(cores >= 1) || !(memory_bytes > 0)) {
    throw InvalidArgumentError(concat("this machine needs a processor's name, at least one core and its memory, got '",
                                      processor, "', ", cores, " cores, ", memory_bytes, " bytes"));
  }
  Device device;
  device.name = std::move(processor);
  device.vendor_name = device.name;
  device.is_gpu = false;
  device.sms = cores;
  device.memory_bytes = memory_bytes;
  device.l2_bytes = last_cache_bytes;
  device.context_bytes = context_rule(device);
  device.source = "this machine";
  return device;
}

}  // namespace latpred
