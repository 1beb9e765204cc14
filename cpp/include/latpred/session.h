#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "latpred/calibration.h"
#include "latpred/device.h"
#include "latpred/energy.h"
#include "latpred/graph.h"
#include "latpred/host_reads.h"
#include "latpred/interval.h"
#include "latpred/memory.h"
#include "latpred/partition.h"
#include "latpred/predictor.h"

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
  std::string runtime_version;  // "torch 2.4": one that was measured; empty: not said
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

struct Fit {
  bool fits = false;  // by the upper end of the memory interval
  double usable_bytes = 0;
  double needed_bytes = 0;  // upper end of the interval
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
  [[nodiscard]] Fit fits(const Graph& graph, const PredictRequest& request) const;
  // The largest batch whose memory fits, 0 when batch 1 does not: found by halving, and by sixteenths of an octave
  // above.
  [[nodiscard]] std::int64_t largest_batch(const Graph& graph, const PredictRequest& request) const;
  // What a predictor was fitted and checked on; empty: the one that answers when none is named.
  [[nodiscard]] const Evidence& evidence(std::string_view predictor) const;

 private:
  [[nodiscard]] const Predictor& loaded(std::string_view predictor) const;

  std::string data_directory_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::unique_ptr<Predictor>, std::less<>> loaded_;
};

}  // namespace latpred
