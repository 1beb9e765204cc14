#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "latpred/calibration.h"
#include "latpred/device.h"
#include "latpred/host_reads.h"
#include "latpred/runtime.h"

namespace latpred {

struct Interval {
  double lower = 0;
  double upper = 0;
};

// The latency of a whole call by a predictor that knows no kernels and does not live here: trained on measured nets.
struct GivenLatency {
  double latency_s = 0;
  Interval interval_s;  // 80 %
  std::string provenance;
  std::vector<std::string> coverage;
};

// The name under which this machine's processor is asked for.
inline constexpr std::string_view kHostDevice = "cpu";

// What is asked besides the graph; names are those of the tables.
struct PredictRequest {
  std::string device = "A100";
  std::string partition;        // empty: the whole device
  std::string runtime;          // empty: eager
  std::string runtime_version;  // "torch 2.4"; empty: not said
  std::string precision = "default";
  std::string input_on = "device";                 // where the caller's input lies: "device", "pinned", "pageable"
  bool autograd = false;                           // keep what a backward pass needs: memory only
  std::string predictor;                           // empty: the calibration's, else the first of the table
  std::string mig_rule = "memory";                 // or "dippm"
  bool strict = false;                             // refuse what lies outside the evidence
  std::shared_ptr<const Calibration> calibration;  // nullptr: none
  std::shared_ptr<const Device> host;              // what device "cpu" is; nullptr: it cannot be asked for
  std::vector<HostRead> host_reads;           // what it was measured to read; its bandwidth follows the call's bytes
  std::shared_ptr<const GivenLatency> given;  // nullptr: a predictor of the table answers
};

// The device that is asked about: this machine, or a row of the table.
[[nodiscard]] const Device& asked_device(const PredictRequest& request);

// The runtime that is asked for. Throws InvalidArgumentError where `device` runs none of that name.
[[nodiscard]] const Runtime& asked_runtime(const PredictRequest& request, const Device& device);

// Throws InvalidArgumentError where `device` lacks the units of the precision that is asked for by name.
void check_units(const PredictRequest& request, const Device& device, const Runtime& runtime);

}  // namespace latpred
