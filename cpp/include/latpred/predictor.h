#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "latpred/device.h"
#include "latpred/features.h"
#include "latpred/graph.h"
#include "latpred/kernel.h"
#include "latpred/partition.h"
#include "latpred/runtime.h"

namespace latpred {

struct Evidence;  // interval.h

// Everything that a latency predictor may look at.
struct LatencyInput {
  const Graph& graph;
  const Kernels& kernels;
  const Features& features;
  const Device& device;
  const Partition& partition;
  const Runtime& runtime;
  std::string_view version = {};             // of the runtime, one that was measured; empty: not said
  std::string_view unmeasured_version = {};  // asked for, which `version` stands for; empty: it is that one
};

// Latency of one call, without the input copy, and its shares: kernels and host_wait add up to latency_s.
struct LatencyOutput {
  double latency_s = 0;
  double host_wait_s = 0;        // time in which the device waits for the host
  std::vector<double> kernel_s;  // [K], repeats included
  double host_s = 0;             // the host's time for all launches, most of it beside the kernels
};

// The time of a call whose kernels take `device_s` and whose launches take the host `host_s`, side by side.
[[nodiscard]] double join_host_s(double device_s, double host_s);

class Predictor {
 public:
  virtual ~Predictor() = default;
  [[nodiscard]] virtual LatencyOutput latency(const LatencyInput& input) const = 0;
  // What its numbers were fitted and checked on: coverage and intervals start from it.
  [[nodiscard]] virtual const Evidence& evidence() const = 0;
};

struct PredictorRow {
  std::string_view name;
  std::string_view description;
  std::string_view checkpoint;  // file under data/predictors: fitted numbers, evidence, interval terms
  std::unique_ptr<Predictor> (*make)(const std::string& checkpoint_path);
};
[[nodiscard]] const std::vector<PredictorRow>& predictors();
[[nodiscard]] const PredictorRow& predictor_row(std::string_view name);

}  // namespace latpred
