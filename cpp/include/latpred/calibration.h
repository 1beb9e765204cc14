#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "latpred/interval.h"
#include "latpred/operators.h"
#include "latpred/predictor.h"

namespace latpred {

// A network that the user has timed.
struct MeasuredCall {
  std::uint64_t graph_hash = 0;  // at its batch
  std::int64_t batch = 1;
  double latency_s = 0;
  std::optional<double> spread;  // relative standard deviation of repeated timings; nothing: timed once
};

constexpr std::array<double, kNumCostKinds> no_kind_factors() {
  std::array<double, kNumCostKinds> factors{};
  factors.fill(1);
  return factors;
}

// What a user's own timings say about one device as it is used: factors on a predictor's times.
struct Calibration {
  std::string name;
  std::string device;     // the table's name
  std::string partition;  // empty: the whole device
  std::string runtime;    // empty: any
  std::string precision;  // empty: any
  std::string input_on = "device";
  std::string predictor;             // the one whose times the factors correct
  std::optional<double> scale;       // of every kernel's time; nothing: the timings say nothing about it
  std::optional<double> host_scale;  // of the host's time for each launch; nothing: likewise
  std::array<double, kNumCostKinds> kind_factors = no_kind_factors();  // on top of the scale
  std::array<bool, kNumCostKinds> timed_kinds{};                       // that the timed networks hold
  double log_sd = 0;                                                   // of log(measured / calibrated), left over
  std::vector<MeasuredCall> records;
};

// Throws InvalidArgumentError where a number is none that a calibration can have.
void check_calibration(const Calibration& calibration);

// Throws InvalidArgumentError, naming both, where `calibration` was made for something else than what is asked.
void check_applies(const Calibration& calibration, const LatencyInput& asked, std::string_view predictor);

// `output` with the factors on its kernels and launches; kernels and host_wait still add up.
[[nodiscard]] LatencyOutput calibrated(const Calibration& calibration, const Kernels& kernels, LatencyOutput output);

// The user's own timing of this very call; nullptr where there is none.
[[nodiscard]] const MeasuredCall* find_record(const Calibration& calibration, const Graph& graph,
                                              std::string_view input_on);

// The interval of a call that the user has timed.
[[nodiscard]] LatencyInterval record_interval(const MeasuredCall& record);

// Whether the timings hold kernels of this kind at the calibration's precision: what is left over covers them.
[[nodiscard]] bool is_timed(const Calibration& calibration, CostKind kind);

// Marks what the timings of `calibration` stand for as measured.
void count_as_measured(const Calibration& calibration, const LatencyInput& input, Coverage& coverage);

// The same device cut into slices, which carry its factors but were not timed: `device_sd` is what that adds.
[[nodiscard]] Calibration carried_to_partition(Calibration calibration, std::string_view partition, double device_sd);

}  // namespace latpred
