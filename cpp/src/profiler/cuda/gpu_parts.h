#pragma once

#include <memory>
#include <optional>
#include <string>

#include "latpred/cuda.h"
#include "profiler/cuda/driver.h"
#include "profiler/cuda/handles.h"
#include "profiler/nvml/nvml.h"

namespace latpred {

// What an open Gpu holds; its clocks, graphs and partitions hold it too, so that it outlives them.
struct Gpu::Parts {
  std::shared_ptr<const cuda::Driver> driver;
  cuda::Ordinal device = 0;
  GpuFacts facts;
  std::optional<nvml::Device> nvml;
  std::string nvml_missing;
  std::unique_ptr<cuda::PrimaryContext> context;
  std::optional<std::int64_t> context_bytes;
};

[[nodiscard]] inline cuda::Stream stream_of(StreamHandle handle) { return reinterpret_cast<cuda::Stream>(handle); }

}  // namespace latpred
