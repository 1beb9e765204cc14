#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "latpred/energy.h"
#include "latpred/graph.h"
#include "latpred/interval.h"
#include "latpred/memory.h"
#include "latpred/partition.h"
#include "latpred/predict_request.h"
#include "latpred/predictor.h"

namespace latpred {

// The answer, in seconds, bytes and joules; intervals are 80 %.
struct Prediction {
  std::string device;     // the table's name
  std::string partition;  // empty: the whole device
  std::string runtime;
  std::string runtime_version;  // the measured one; empty: not said
  std::string precision;
  std::string predictor;
  std::int64_t batch = 1;
  std::string input_on;
  bool autograd = false;
  std::string mig_rule;
  std::string calibration;  // its name; empty: none

  double latency_s = 0;
  double host_s = 0;        // the host's time for all launches, most of it beside the kernels
  double host_wait_s = 0;   // share of latency_s in which the device waits for the host
  double input_copy_s = 0;  // share of latency_s in which the input travels to the device
  Interval latency_interval_s;
  MemoryEstimate memory;
  Interval memory_interval_bytes;
  std::optional<EnergyEstimate> energy;
  std::optional<Interval> energy_interval_j;
  std::optional<std::string> mig_profile;  // nothing: the device has no MIG, or no profile is large enough

  std::string latency_provenance;  // "fitted", "interpolated", "extrapolated", "modelled", "measured"
  std::string memory_provenance;
  std::string energy_provenance;
  std::vector<std::string> coverage;           // one sentence for each thing outside what was measured
  std::vector<std::string> unknown_operators;  // kinds that no table knows, costed as memory traffic
};

// One row of the kernels table; latency_s over all rows adds up to the prediction's.
struct KernelRow {
  std::string name;
  std::string kind;  // a cost kind, or "host_wait", "input_copy"
  std::string arithmetic;
  std::vector<std::string> members;  // nodes of the graph
  std::int64_t repeat = 1;
  double latency_s = 0;
  double roofline_s = 0;
  double macs = 0;
  double flops = 0;
  double bytes = 0;
  double m = 0;
  double n = 0;
  double k = 0;
  double tiles = 0;
  double waves = 0;
  bool compute_bound = false;
};

// One MIG profile of the device.
struct PartitionRow {
  std::string name;
  double sms = 0;
  double memory_bytes = 0;  // usable
  int max_instances = 1;
  double latency_s = 0;
  Interval latency_interval_s;
  double memory_share = 0;  // predicted peak over usable
  bool fits = false;        // by the upper end of the memory interval
};

// Runs the whole line from Graph to Prediction. Holds the fitted predictors, which it loads from `data_directory` when
// first asked for; safe to share between threads.
class Session {
 public:
  explicit Session(std::string data_directory);
  ~Session();

  [[nodiscard]] Prediction predict(const Graph& graph, const PredictRequest& request) const;
  // One answer for each graph and request, in graph-major order, on `num_threads` threads (0: all cores).
  [[nodiscard]] std::vector<Prediction> predict_many(const std::vector<std::shared_ptr<const Graph>>& graphs,
                                                     const std::vector<PredictRequest>& requests,
                                                     int num_threads = 0) const;
  [[nodiscard]] std::vector<KernelRow> kernels(const Graph& graph, const PredictRequest& request) const;
  [[nodiscard]] std::vector<PartitionRow> partitions(const Graph& graph, const PredictRequest& request) const;
  // What a predictor was fitted and checked on; empty: the one that answers when none is named.
  [[nodiscard]] const Evidence& evidence(std::string_view predictor) const;

 private:
  [[nodiscard]] const Predictor& loaded(std::string_view predictor) const;

  std::string data_directory_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::unique_ptr<Predictor>, std::less<>> loaded_;
};

}  // namespace latpred
