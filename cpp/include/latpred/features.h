#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "latpred/device.h"
#include "latpred/kernel.h"
#include "latpred/partition.h"

namespace latpred {

struct KernelPhysics;

// One kernel on one device: what the columns below are computed from.
struct KernelOnDevice {
  const Kernel& kernel;
  const Device& device;
  const Partition& partition;
  const KernelPhysics* physics = nullptr;  // kernel_physics of the above, where the caller has it already
};

// A named number of a kernel on a device. Append only: weights have learnt column positions.
struct FeatureColumn {
  std::string_view name;
  std::string_view unit;
  std::string_view description;
  double (*compute)(const KernelOnDevice&);
};

// Physics of one kernel: the quantities that every predictor starts from. Times in seconds, of one execution.
struct KernelPhysics {
  double peak_flops_per_s = 0;       // sustained, of the partition, at the kernel's arithmetic
  double bandwidth_bytes_per_s = 0;  // of the partition
  double compute_s = 0;              // flops / peak
  double memory_s = 0;               // bytes / bandwidth
  double roofline_s = 0;             // max of both
  double tiles = 0;                  // output tiles of the matrix product; 0 where it is none
  double waves = 0;                  // tiles over SMs, rounded up
  double wave_efficiency = 1;        // share of the waves' slots that hold a tile
  bool compute_bound = false;
};
[[nodiscard]] KernelPhysics kernel_physics(const KernelOnDevice& input);

[[nodiscard]] const std::vector<FeatureColumn>& feature_columns();

// A table of kernels on a device: plain arrays.
struct Features {
  std::vector<KernelPhysics> physics;  // [K]
  std::vector<double> values;          // [K, F], row-major, F = feature_columns().size()
  std::int64_t num_kernels = 0;
  std::int64_t num_columns = 0;
};
// `with_values` false leaves the [K, F] table empty, for predictors that need the physics alone.
[[nodiscard]] Features featurize(const Kernels& kernels, const Device& device, const Partition& partition,
                                 bool with_values = true);

}  // namespace latpred
