#include "latpred/measure.h"

#include <algorithm>

#include "latpred/criterion.h"
#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred {
namespace {

void check(const Protocol& protocol) {
  const auto refuse = [&](const auto&... parts) {
    throw InvalidArgumentError(concat("protocol '", protocol.name, "': ", parts...));
  };
  if (protocol.warm_up < 0) refuse("warm_up must be >= 0, got ", protocol.warm_up);
  if (!(protocol.warm_up_s >= 0)) refuse("warm_up_s must be >= 0, got ", protocol.warm_up_s);
  if (!(protocol.min_s >= 0)) refuse("min_s must be >= 0, got ", protocol.min_s);
  if (protocol.min_samples < 1) refuse("min_samples must be >= 1, got ", protocol.min_samples);
  if (protocol.max_samples < protocol.min_samples) {
    refuse("max_samples (", protocol.max_samples, ") must not be below min_samples (", protocol.min_samples, ")");
  }
  if (!(protocol.timeout_s > 0)) refuse("timeout_s must be above 0, got ", protocol.timeout_s);
  if (protocol.threshold && !(*protocol.threshold > 0)) refuse("threshold must be above 0, got ", *protocol.threshold);
  if (!(protocol.max_coefficient_of_variation > 0)) {
    refuse("max_coefficient_of_variation must be above 0, got ", protocol.max_coefficient_of_variation);
  }
  if (protocol.max_repetitions < 1) refuse("max_repetitions must be >= 1, got ", protocol.max_repetitions);
  if (protocol.runs_per_sample < 1) refuse("runs_per_sample must be >= 1, got ", protocol.runs_per_sample);
  if (protocol.threads < 1) refuse("threads must be >= 1, got ", protocol.threads);
}

double threshold_of(const Protocol& protocol) {
  return protocol.threshold.value_or(criterion_row(protocol.criterion).default_threshold);
}

struct Workload {
  const std::function<void()>& run_once;
  const std::function<void()>& prepare;
};

Sample run_timed(const Workload& workload, std::int64_t runs, Clock& clock) {
  if (workload.prepare) workload.prepare();
  clock.start();
  for (std::int64_t i = 0; i < runs; ++i) workload.run_once();
  Sample sample = clock.stop();
  sample.wall_s /= static_cast<double>(runs);
  sample.cpu_s /= static_cast<double>(runs);
  return sample;
}

// The best that one run alone says about its own time: what the criterion is shown.
double time_of(const Sample& sample, const Protocol& protocol) { return choose_label({sample}, protocol).latency_s; }

struct Repetition {
  std::vector<Sample> samples;
  Label label;
  Statistics statistics;
  std::string stopped_by;
};

Repetition repeat(const Workload& workload, const Protocol& protocol, Clock& clock, double deadline_s) {
  Repetition result;
  const std::unique_ptr<Criterion> criterion = criterion_row(protocol.criterion).make(threshold_of(protocol));
  const double begin_s = clock.now_s();
  while (result.stopped_by.empty()) {
    result.samples.push_back(run_timed(workload, protocol.runs_per_sample, clock));
    criterion->add(time_of(result.samples.back(), protocol));
    const double now_s = clock.now_s();
    const auto count = static_cast<std::int64_t>(result.samples.size());
    if (count >= protocol.min_samples && now_s - begin_s >= protocol.min_s && criterion->is_satisfied()) {
      result.stopped_by = protocol.criterion;
    } else if (count >= protocol.max_samples) {
      result.stopped_by = "max_samples";
    } else if (now_s >= deadline_s) {
      result.stopped_by = "timeout";
    }
  }
  result.label = choose_label(result.samples, protocol);
  result.statistics = statistics(result.label.times_s);
  return result;
}

// Nothing is known to vary in a single time.
double variation(const Repetition& repetition) { return repetition.statistics.coefficient_of_variation.value_or(0); }

}  // namespace

Measurement measure(const std::function<void()>& run_once, const Protocol& protocol, Clock& clock,
                    const std::function<void()>& prepare) {
  check(protocol);
  const Workload workload{run_once, prepare};
  Measurement result;
  result.protocol = protocol_text(protocol);
  result.clock = clock.name();
  result.device_fingerprint = clock.device_fingerprint();

  const double begin_s = clock.now_s();
  const double deadline_s = begin_s + protocol.timeout_s;
  std::optional<Sample> first;
  for (std::int64_t i = 0; i < protocol.warm_up || clock.now_s() - begin_s < protocol.warm_up_s; ++i) {
    const Sample sample = run_timed(workload, 1, clock);
    if (!first) first = sample;
    if (clock.now_s() >= deadline_s) break;
  }

  std::optional<Repetition> best;
  for (std::int64_t i = 0; i < protocol.max_repetitions; ++i) {
    Repetition repetition = repeat(workload, protocol, clock, deadline_s);
    if (!first) first = repetition.samples.front();
    const bool is_timeout = repetition.stopped_by == "timeout";
    // One that was cut short has seen less, so that its smaller spread is no merit.
    if (!best || (!is_timeout && variation(repetition) < variation(*best))) {
      if (best) result.discarded.push_back(std::move(best->samples));
      best = std::move(repetition);
    } else {
      result.discarded.push_back(std::move(repetition.samples));
    }
    if (is_timeout || variation(*best) <= protocol.max_coefficient_of_variation) break;
  }

  result.latency_s = best->label.latency_s;
  result.label = std::move(best->label.how);
  result.first_run = *first;
  result.samples = std::move(best->samples);
  result.is_stable = variation(*best) <= protocol.max_coefficient_of_variation;
  result.statistics = best->statistics;
  result.stopped_by = std::move(best->stopped_by);
  result.total_s = clock.now_s() - begin_s;
  return result;
}

}  // namespace latpred
