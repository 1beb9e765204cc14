#include <algorithm>
#include <array>

#include "latpred/error.h"
#include "latpred/measure.h"
#include "latpred/text.h"

namespace latpred {
namespace {

std::vector<double> wall_times(const std::vector<Sample>& samples) {
  std::vector<double> result;
  for (const Sample& sample : samples) result.push_back(sample.wall_s);
  return result;
}

std::vector<double> cpu_times(const std::vector<Sample>& samples) {
  std::vector<double> result;
  for (const Sample& sample : samples) result.push_back(sample.cpu_s);
  return result;
}

Label median_label(std::vector<double> times_s, std::string how) {
  const double latency_s = median(times_s);
  return {.latency_s = latency_s, .how = std::move(how), .times_s = std::move(times_s)};
}

Label wall(const std::vector<Sample>& samples) {
  return median_label(wall_times(samples), concat("median wall clock of ", samples.size(), " runs"));
}

Label cpu(const std::vector<Sample>& samples) {
  return median_label(cpu_times(samples), concat("median thread CPU time of ", samples.size(), " runs"));
}

Label mean_wall(const std::vector<Sample>& samples) {
  std::vector<double> times_s = wall_times(samples);
  const double latency_s = mean(times_s);
  return {.latency_s = latency_s,
          .how = concat("mean wall clock of ", samples.size(), " runs"),
          .times_s = std::move(times_s)};
}

Label clean(const std::vector<Sample>& samples) {
  std::vector<double> times_s;
  bool is_waiting = false;
  for (const Sample& sample : samples) {
    if (sample.context_switches == 0) times_s.push_back(sample.wall_s);
    is_waiting = is_waiting || sample.waits > 0;
  }
  if (!times_s.empty()) {
    std::string how =
        concat("median wall clock of ", times_s.size(), " of ", samples.size(), " runs, without context switch");
    return median_label(std::move(times_s), std::move(how));
  }
  // CPU time leaves out what the workload itself waits for.
  if (is_waiting) return wall(samples);
  Label label = cpu(samples);
  label.how += ", each with a context switch";
  return label;
}

struct Rule {
  LabelRule row;
  Label (*choose)(const std::vector<Sample>& samples);
  bool one_thread_only;  // with more: wall
};
constexpr std::array<Rule, 4> kRules{{
    {{"clean",
      "median wall clock of the runs without context switch, else median thread CPU time; with several "
      "threads, median wall clock"},
     &clean,
     true},
    {{"wall", "median wall clock"}, &wall, false},
    {{"cpu", "median thread CPU time; with several threads, median wall clock"}, &cpu, true},
    {{"mean", "mean wall clock"}, &mean_wall, false},
}};

const Rule& rule(std::string_view name) {
  std::vector<std::string> valid;
  for (const Rule& candidate : kRules) {
    if (candidate.row.name == name) return candidate;
    valid.emplace_back(candidate.row.name);
  }
  throw InvalidArgumentError(unknown_name_message("label rule", name, valid), {.valid = valid});
}

}  // namespace

const std::vector<LabelRule>& label_rules() {
  static const std::vector<LabelRule> rows = [] {
    std::vector<LabelRule> result;
    for (const Rule& candidate : kRules) result.push_back(candidate.row);
    return result;
  }();
  return rows;
}

Label choose_label(const std::vector<Sample>& samples, const Protocol& protocol) {
  if (samples.empty()) throw InvalidArgumentError("a label needs at least one sample, got none");
  const Rule& chosen = rule(protocol.label);
  return chosen.one_thread_only && protocol.threads > 1 ? wall(samples) : chosen.choose(samples);
}

}  // namespace latpred
