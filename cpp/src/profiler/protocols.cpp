#include <string>

#include "latpred/criterion.h"
#include "latpred/error.h"
#include "latpred/measure.h"
#include "latpred/text.h"

namespace latpred {
namespace {

// Fixed counts are to be kept: this is for what hangs.
constexpr double kLongTimeout = 600;

// A fixed number of runs after some warm-up, as papers say it; nothing is measured again unless they do so.
Protocol fixed_count(std::string name, std::int64_t warm_up, std::int64_t samples, std::string label) {
  Protocol protocol;
  protocol.name = std::move(name);
  protocol.warm_up = warm_up;
  protocol.min_samples = samples;
  protocol.max_samples = samples;
  protocol.criterion = "count";
  protocol.threshold = static_cast<double>(samples);
  protocol.max_repetitions = 1;
  protocol.timeout_s = kLongTimeout;
  protocol.label = std::move(label);
  return protocol;
}

// After a single run a net of some MiB is still moving into the last-level cache: nets timed twice differed by 34 %
// with "khan", by 9 % with this (latpred campaign run --recipes fnn --runtimes libtorch). Long runs cost the same.
Protocol warm() {
  Protocol protocol = fixed_count("warm", 1, 5, "clean");
  protocol.max_samples = 20;
  protocol.warm_up_s = 0.005;
  protocol.min_s = 0.005;
  return protocol;
}

Protocol by_entropy() {
  Protocol protocol;
  protocol.name = "entropy";
  protocol.criterion = "entropy";
  return protocol;
}

}  // namespace

const std::vector<ProtocolRow>& protocols() {
  static const std::vector<ProtocolRow> rows{
      {"default", "until the relative standard deviation is below 1 %; again where it stays above 5 %", Protocol{}},
      {"entropy", "until new samples bring nothing new; again where they vary by more than 5 %", by_entropy()},
      {"khan", "1 warm-up and the median of 5 runs", fixed_count("khan", 1, 5, "clean")},
      {"mendoza", "1 warm-up and the median of 20 runs", fixed_count("mendoza", 1, 20, "clean")},
      {"dippm", "5 warm-ups and the mean of 30 runs", fixed_count("dippm", 5, 30, "mean")},
      {"warm", "5 ms of warm-up and the median of 5 to 20 runs, at least 5 ms of them", warm()},
  };
  return rows;
}

const Protocol& protocol(std::string_view name) {
  std::vector<std::string> valid;
  for (const ProtocolRow& row : protocols()) {
    if (row.name == name) return row.protocol;
    valid.emplace_back(row.name);
  }
  throw InvalidArgumentError(unknown_name_message("protocol", name, valid), {.valid = valid});
}

std::string protocol_text(const Protocol& protocol) {
  const double threshold = protocol.threshold.value_or(criterion_row(protocol.criterion).default_threshold);
  std::string text = concat(protocol.name, ": ", protocol.warm_up, " warm-up");
  if (protocol.warm_up_s > 0) text += concat(" and ", protocol.warm_up_s, " s");
  text += protocol.min_samples == protocol.max_samples
              ? concat(", ", protocol.min_samples, " samples")
              : concat(", ", protocol.min_samples, " to ", protocol.max_samples, " samples until ", protocol.criterion,
                       " ", threshold);
  if (protocol.runs_per_sample > 1) text += concat(" of ", protocol.runs_per_sample, " runs");
  if (protocol.min_s > 0) text += concat(", at least ", protocol.min_s, " s");
  if (protocol.max_repetitions > 1) {
    text += concat(", up to ", protocol.max_repetitions, " times while varying by more than ",
                   protocol.max_coefficient_of_variation);
  }
  text += concat(", label ", protocol.label);
  if (protocol.threads > 1) text += concat(", ", protocol.threads, " threads");
  return text;
}

}  // namespace latpred
