#include "latpred/cuda.h"

#include <unistd.h>

#include <utility>

#include "latpred/text.h"
#include "profiler/cuda/gpu_facts.h"
#include "profiler/cuda/gpu_parts.h"

namespace latpred {
namespace {

int device_count(const cuda::Driver& driver) {
  int count = 0;
  driver.cuDeviceGetCount(&count);
  return count;
}

cuda::Ordinal device_of(const cuda::Driver& driver, int index) {
  const int count = device_count(driver);
  if (index < 0 || index >= count) {
    ErrorData data;
    for (int i = 0; i < count; ++i) data.valid.push_back(concat(i));
    throw InvalidArgumentError(concat("there is no GPU ", index, ": the driver shows ", count,
                                      ", counted from 0 (CUDA_VISIBLE_DEVICES may hide others)"),
                               data);
  }
  cuda::Ordinal device = 0;
  driver.cuDeviceGet(&device, index);
  return device;
}

std::optional<std::int64_t> used_bytes(const std::optional<nvml::Device>& nvml) {
  if (!nvml) return std::nullopt;
  const auto memory = nvml->memory();
  if (!memory) return std::nullopt;
  return static_cast<std::int64_t>(memory->used);
}

bool has_context(const cuda::Driver& driver, cuda::Ordinal device) {
  unsigned int flags = 0;
  int is_active = 0;
  driver.cuDevicePrimaryCtxGetState(device, &flags, &is_active);
  return is_active != 0;
}

}  // namespace

std::string cuda_unavailable_reason(const CudaLibraries& libraries) {
  std::string missing = cuda::Driver::missing_reason(libraries.driver, cuda::Driver::kWords);
  if (!missing.empty()) return missing;
  try {
    (void)cuda::open_driver(libraries.driver);
    return "";
  } catch (const ProfilerError& error) {
    return error.what();
  }
}

std::vector<GpuFacts> gpu_facts(const CudaLibraries& libraries) {
  const auto driver = cuda::open_driver(libraries.driver);
  std::vector<GpuFacts> all;
  for (int index = 0; index < device_count(*driver); ++index) {
    GpuFacts facts = driver_facts(*driver, device_of(*driver, index), index);
    complete_facts(facts, find_nvml(libraries, facts).device);
    all.push_back(std::move(facts));
  }
  return all;
}

Gpu::Gpu(int index, const CudaLibraries& libraries) {
  auto parts = std::make_shared<Parts>();
  parts->driver = cuda::open_driver(libraries.driver);
  parts->device = device_of(*parts->driver, index);
  parts->facts = driver_facts(*parts->driver, parts->device, index);
  NvmlFound found = find_nvml(libraries, parts->facts);
  parts->nvml = std::move(found.device);
  parts->nvml_missing = std::move(found.missing);
  complete_facts(parts->facts, parts->nvml);

  const bool was_open = has_context(*parts->driver, parts->device);
  const auto before = used_bytes(parts->nvml);
  parts->context = std::make_unique<cuda::PrimaryContext>(parts->driver, parts->device);
  const auto after = used_bytes(parts->nvml);
  if (!was_open && before && after && *after > *before) parts->context_bytes = *after - *before;
  parts_ = std::move(parts);
}

const GpuFacts& Gpu::facts() const { return parts_->facts; }

GpuState Gpu::state() const {
  GpuState state;
  state.nvml_missing = parts_->nvml_missing;
  if (!parts_->nvml) return state;
  const nvml::Device& nvml = *parts_->nvml;
  state.sm_clock_hz = nvml.sm_clock_hz();
  state.memory_clock_hz = nvml.memory_clock_hz();
  state.temperature_celsius = nvml.temperature_celsius();
  state.power_w = nvml.power_w();
  if (const auto reasons = nvml.clock_reasons()) {
    state.clock_reasons = nvml::reason_names(*reasons, false);
    state.is_throttled = !nvml::reason_names(*reasons, true).empty();
  }
  return state;
}

GpuMemory Gpu::memory() const {
  GpuMemory memory;
  const cuda::CurrentContext current(*parts_->driver, parts_->context->get());
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  parts_->driver->cuMemGetInfo(&free_bytes, &total_bytes);
  memory.free_bytes = static_cast<std::int64_t>(free_bytes);
  memory.total_bytes = static_cast<std::int64_t>(total_bytes);
  memory.context_bytes = parts_->context_bytes;
  if (!parts_->nvml) return memory;
  if (const auto info = parts_->nvml->memory()) {
    memory.device_used_bytes = static_cast<std::int64_t>(info->used);
    memory.device_reserved_bytes = static_cast<std::int64_t>(info->reserved);
  }
  memory.process_bytes = parts_->nvml->process_bytes(static_cast<unsigned int>(getpid()));
  return memory;
}

void Gpu::synchronize(StreamHandle stream) const {
  const cuda::CurrentContext current(*parts_->driver, parts_->context->get());
  parts_->driver->cuStreamSynchronize(stream_of(stream));
}

}  // namespace latpred
