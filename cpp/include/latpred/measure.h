#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "latpred/statistics.h"

namespace latpred {

// One timed run, or the mean of `runs_per_sample` of them.
struct Sample {
  double wall_s = 0;
  double cpu_s = 0;                   // of the calling thread alone
  std::int64_t context_switches = 0;  // the scheduler took the core away: the wall clock counted somebody else's work
  std::int64_t waits = 0;             // the thread gave the core away itself: a sleep, a lock, a file
};

// What measure() reads time from: the host's clocks (host_clock.h), a GPU's events, or recorded numbers in a test.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual void start() = 0;
  [[nodiscard]] virtual Sample stop() = 0;   // since start()
  [[nodiscard]] virtual double now_s() = 0;  // for timeouts; any origin
  [[nodiscard]] virtual std::string name() const = 0;
  // The device whose time this is; empty: unknown.
  [[nodiscard]] virtual std::string device_fingerprint() const { return ""; }
};

// How to measure. The rows of protocols() are the named ones; a changed one should carry another name.
struct Protocol {
  std::string name = "default";
  std::int64_t warm_up = 3;  // runs before the samples; the very first run is one of them (0: it is a sample)
  double warm_up_s = 0;      // warm up at least this long
  double min_s = 0;          // sample at least this long
  std::int64_t min_samples = 10;
  std::int64_t max_samples = 1000;
  double timeout_s = 5;  // of all runs together; stops even before min_samples, but not before one sample
  std::string criterion = "relative_standard_deviation";
  std::optional<double> threshold;             // of the criterion; nothing: its row's
  double max_coefficient_of_variation = 0.05;  // Lilou's rule: above it, measure again
  std::int64_t max_repetitions = 3;            // so many times in all at most; 1: never again
  std::int64_t runs_per_sample = 1;            // more for runs that last less than what reading the clocks costs
  std::string label = "clean";                 // a row of label_rules()
  std::int64_t threads = 1;                    // that the workload runs on; CPU time is the calling thread's only
};

struct ProtocolRow {
  std::string_view name;
  std::string_view description;
  Protocol protocol;
};
[[nodiscard]] const std::vector<ProtocolRow>& protocols();
// Throws InvalidArgumentError with the nearest name and the list.
[[nodiscard]] const Protocol& protocol(std::string_view name);
// One line for data sets: "khan: 1 warm-up, 5 samples, count, label clean".
[[nodiscard]] std::string protocol_text(const Protocol& protocol);

// How the one number is chosen from the samples.
struct LabelRule {
  std::string_view name;
  std::string_view description;
};
[[nodiscard]] const std::vector<LabelRule>& label_rules();

struct Label {
  double latency_s = 0;
  std::string how;              // "median wall clock of 9 of 10 runs, without context switch"
  std::vector<double> times_s;  // the times that it was chosen from
};
// "clean": the median of the runs without context switch; where there is none, of thread CPU time. With several
// threads, or where the workload waits and no run was left alone, the wall clock.
[[nodiscard]] Label choose_label(const std::vector<Sample>& samples, const Protocol& protocol);

struct Measurement {
  double latency_s = 0;                        // the label
  std::string label;                           // how it was chosen
  Sample first_run;                            // the very first: cold caches, first touches, compilation
  std::vector<Sample> samples;                 // [N] of the repetition that the label is from
  std::vector<std::vector<Sample>> discarded;  // repetitions that varied too much
  Statistics statistics;                       // of the times that the label was chosen from
  bool is_stable = true;                       // their coefficient of variation is within the protocol's
  std::string stopped_by;                      // the criterion's name, "max_samples" or "timeout"
  double total_s = 0;                          // warm-up and all repetitions
  std::string protocol;                        // protocol_text
  std::string clock;                           // Clock::name
  std::string device_fingerprint;
  std::vector<std::pair<std::string, std::string>> versions;  // library and version; added by who knows them
};

// Runs `run_once` on the calling thread by the protocol. `prepare` runs untimed before each sample: to flush a cache,
// to move to other data. Errors of either pass through. Throws InvalidArgumentError for a protocol that contradicts
// itself.
[[nodiscard]] Measurement measure(const std::function<void()>& run_once, const Protocol& protocol, Clock& clock,
                                  const std::function<void()>& prepare = {});

}  // namespace latpred
