#pragma once

#include <memory>
#include <optional>
#include <string>

#include "latpred/cuda.h"
#include "profiler/cuda/driver.h"
#include "profiler/nvml/nvml.h"

namespace latpred {

// What the driver says about GPU `index`; no context is made.
[[nodiscard]] GpuFacts driver_facts(const cuda::Driver& driver, cuda::Ordinal device, int index);

// NVML, or why it is missing.
struct NvmlFound {
  std::optional<nvml::Device> device;
  std::string missing;
};
[[nodiscard]] NvmlFound find_nvml(const CudaLibraries& libraries, const GpuFacts& facts);

// Adds what NVML knows, and the fingerprint.
void complete_facts(GpuFacts& facts, const std::optional<nvml::Device>& nvml);

}  // namespace latpred
