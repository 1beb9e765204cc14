#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace latpred {

// What executes a graph on the device. Facts only; fusion rules stand in kernels/fusion_rules.cpp.
struct Runtime {
  std::string_view name;
  std::string_view description;
  bool fuses;                   // false: one kernel for each non-view operator
  bool inserts_casts;           // amp puts casts before and after half-precision operators
  double host_s_per_launch;     // the host's time for one launch: a lower bound on latency at small batch
  std::string_view host_source; // where that figure comes from
  std::string_view default_conv_arithmetic;    // "default" precision: of convolutions
  std::string_view default_matmul_arithmetic;  // of matrix products
  std::vector<std::string_view> precisions;    // names accepted besides "default"
};

[[nodiscard]] const std::vector<Runtime>& runtimes();
[[nodiscard]] const Runtime& runtime(std::string_view name);  // throws InvalidArgumentError with the nearest name

}  // namespace latpred
