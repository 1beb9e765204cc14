#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "latpred/precision.h"

namespace latpred {

// What executes a graph on the device. Facts only; the fusion rules stand in kernels/fusion_rules.cpp.
struct Runtime {
  std::string_view name;
  std::string_view description;
  bool fuses;          // false: one kernel for each operator that moves data
  bool fuses_shared;   // also behind what several operators read, casts included, as a code generator does
  bool strided_views;  // transposes and slices are views, as in PyTorch; false: copies
  bool pads_sizes;     // lays tensors out itself, with sizes that fill its kernels' vectors
  bool on_gpu;
  bool on_cpu;
  double host_s_per_launch;  // the host's time for one launch: what a small batch waits for
  std::string_view host_source;
  Arithmetic default_convolution;  // what "default" precision means here
  Arithmetic default_matmul;
  std::vector<std::string_view> precisions;  // accepted besides "default"
};

[[nodiscard]] const std::vector<Runtime>& runtimes();
[[nodiscard]] const Runtime& runtime(std::string_view name);  // throws InvalidArgumentError with the nearest name

// The row of `name`, which must be one that `runtime` accepts; throws InvalidArgumentError with its list.
[[nodiscard]] const Precision& precision_of(const Runtime& runtime, std::string_view name);

}  // namespace latpred
