#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "latpred/alike_networks.h"
#include "latpred/checkpoint.h"
#include "latpred/operators.h"
#include "latpred/predictor.h"

namespace latpred {

struct Calibration;  // calibration.h

// What the width of an 80 % interval is made of, on the log scale of latency. Where each number comes from stands in
// the checkpoint's manifest.
struct IntervalTerms {
  double log_bias = 0;        // median of log(measured / predicted): what the interval is centred on
  double known_device = 0;    // half-width on a measured device: networks and shapes left out whole
  double unknown_device = 0;  // half-width of the same on a device left out, its common factor taken off
  double device_sd = 0;       // common factor of a device (or a part of one) that was not measured
  double runtime_sd = 0;      // of a runtime that was not measured
  double kind_sd = 0;         // of the efficiency of a kind of operator without measurements
  double host_sd = 0;         // of the host's time per launch, which differs between machines
  double cpu = 0;  // half-width of all that on a CPU, of a fit on GPUs; zero: as of any device that was not measured
};

// How the half-width changes with what is asked, relative to the typical one of networks left out. A checkpoint that
// says nothing about it has the same width for all. Factors multiply, the runtime's and the version's parts add in
// quadrature.
struct SituationTerms {
  using Tables = std::map<std::string, std::map<std::string, double, std::less<>>, std::less<>>;  // device, runtime

  double near_network = 1;     // a network much like measured ones, among many measured families
  double new_network = 1;      // >= 1: like none of the measured ones
  double untried_network = 1;  // >= 1: all, of such a network: families that no choice looked at lacked it
  double small_batch = 1;      // >= 1: the runtime's part, of a single item; all, of batches beyond the measured ones
  double few_families = 1;     // >= 1: one family of networks measured on the device by this runtime, or none
  double other_version = 0;    // of a runtime whose versions were told apart, by one not said or not measured there
  std::map<std::string, double, std::less<>> runtimes;  // by name
  Tables tables;                                        // a factor of each
  Tables new_tables;                                    // another, of a network like none of the measured ones
  // Half-widths of a kernel that stands alone, by kind; zero: as of any network.
  std::array<double, kNumCostKinds> operators{};

  [[nodiscard]] bool tells_new_networks() const {
    return new_network > 1 || untried_network > 1 || !new_tables.empty();
  }
};

// What a predictor was fitted on.
struct Evidence {
  using Arithmetics = std::map<std::string, std::bitset<kNumArithmetics>, std::less<>>;  // by device

  std::string predictor;
  bool is_fitted = false;  // false: physics alone
  std::vector<std::string> devices;
  std::vector<std::string> runtimes;
  // Of a runtime, those that were told apart, the oldest first.
  std::map<std::string, std::vector<std::string>, std::less<>> versions;
  // Of them, those that were measured on a device, where any were.
  std::map<std::string, std::map<std::string, std::vector<std::string>, std::less<>>, std::less<>> device_versions;
  std::vector<std::string> precisions;
  // Arithmetics of products in the networks measured on a device, where it is said: others had their efficiency there
  // by analogy to other devices.
  Arithmetics device_arithmetics;
  // Those in which single operators were measured on a device, where any were.
  Arithmetics operator_arithmetics;
  std::int64_t part_rows = 0;  // measured calls on parts of devices
  std::int64_t smallest_batch = 0;
  std::int64_t largest_batch = 0;
  // Measured rows by kind and arithmetic; zero: the efficiency is a prior.
  std::array<std::array<std::int64_t, kNumArithmetics>, kNumCostKinds> rows{};
  // Families of whole networks measured on a device by a runtime.
  std::map<std::string, std::map<std::string, std::int64_t, std::less<>>, std::less<>> families;
  AlikeNetworks alike;
  IntervalTerms terms;
  SituationTerms situation;
};
[[nodiscard]] Evidence evidence_of(const Checkpoint& checkpoint);

struct ChosenVersion {
  std::string_view measured;
  std::string_view unmeasured;  // what was asked for and `measured` stands for; empty: it is `measured`
};
// The measured version of `runtime` that `asked` names, whole or without its last numbers ("torch 2.4" is
// "torch 2.4.0"), else the one that stands for it (runtime_versions.h). Throws InvalidArgumentError, naming the
// measured ones, where there is none.
[[nodiscard]] ChosenVersion choose_version(const Evidence& evidence, std::string_view runtime, std::string_view asked);

// How a prediction stands to what was measured.
struct Coverage {
  bool device_measured = false;  // its networks, or operators like the one that stands alone
  bool whole_device = false;
  bool runtime_measured = false;
  bool version_measured = false;    // of the runtime on this device, or none is asked for
  bool precision_measured = false;  // the arithmetic of its products on this device too, where that is measured
  bool kinds_measured = false;      // every kernel's kind at its arithmetic
  bool batch_in_range = false;
  std::string_view provenance;     // "fitted", "interpolated", "extrapolated", "modelled"
  std::vector<std::string> notes;  // one short sentence for each thing outside; empty when fitted
};
// What a calibration was timed on counts as measured; nullptr: none.
[[nodiscard]] Coverage coverage(const Evidence& evidence, const LatencyInput& input,
                                const Calibration* calibration = nullptr);

struct LatencyInterval {
  double lower_s = 0;  // never above the predicted latency
  double upper_s = 0;  // never below it
  double log_half_width = 0;
};
// `output` is what the predictor with this evidence answered for `input`, after the calibration where there is one:
// what it has left over stands for the terms of the device, the runtime and the host that it was fitted on.
[[nodiscard]] LatencyInterval latency_interval(const Evidence& evidence, const Coverage& coverage,
                                               const LatencyInput& input, const LatencyOutput& output,
                                               const Calibration* calibration = nullptr);

}  // namespace latpred
