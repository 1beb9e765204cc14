#include "latpred/interval.h"

#include <algorithm>
#include <bitset>
#include <cmath>

#include "features/physics.h"
#include "latpred/calibration.h"
#include "latpred/error.h"
#include "latpred/json.h"
#include "latpred/precision.h"
#include "latpred/quantile.h"
#include "latpred/runtime_versions.h"
#include "latpred/text.h"
#include "situation.h"
#include "spread.h"
#include "units.h"

namespace latpred {
namespace {

std::vector<std::string> names_of(const Json& json) {
  std::vector<std::string> names;
  for (const Json& name : json.array()) names.push_back(name.text());
  return names;
}

double term(const Json& terms, std::string_view name) {
  const double value = terms.at(name).at("value").number();
  if (!std::isfinite(value)) throw CheckpointError(concat("interval term '", name, "' is not a number"));
  return value;
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::size_t arithmetic_id(std::string_view name) {
  for (std::size_t id = 0; id < kNumArithmetics; ++id) {
    if (arithmetic_name(static_cast<Arithmetic>(id)) == name) return id;
  }
  throw CheckpointError(concat("evidence names an unknown arithmetic '", name, "'"));
}

Evidence::Arithmetics arithmetics_of(const Json* entry) {
  Evidence::Arithmetics found;
  if (entry == nullptr) return found;
  for (const auto& [device, names] : entry->object()) {
    for (const std::string& name : names_of(names)) found[device].set(arithmetic_id(name));
  }
  return found;
}

bool is_measured(const Evidence& evidence, const Kernel& kernel, const Device& device, const Calibration* calibration) {
  if (calibration != nullptr && is_timed(*calibration, kernel.kind)) return true;
  const auto arithmetic = static_cast<std::size_t>(executed_arithmetic(kernel, device));
  return evidence.rows.at(static_cast<std::size_t>(kernel.kind)).at(arithmetic) > 0;
}

bool are_kinds_measured(const Evidence& evidence, const LatencyInput& input, const Calibration* calibration) {
  return input.kernels.unknown_operators.empty() &&
         std::all_of(input.kernels.rows.begin(), input.kernels.rows.end(),
                     [&](const Kernel& kernel) { return is_measured(evidence, kernel, input.device, calibration); });
}

// "conv at tf32, pool at fp16", each pair once.
std::string unmeasured_kinds(const Evidence& evidence, const LatencyInput& input, const Calibration* calibration) {
  std::bitset<kNumCostKinds * kNumArithmetics> seen;
  std::vector<std::string> words;
  for (const Kernel& kernel : input.kernels.rows) {
    const Arithmetic arithmetic = executed_arithmetic(kernel, input.device);
    const std::size_t cell =
        static_cast<std::size_t>(kernel.kind) * kNumArithmetics + static_cast<std::size_t>(arithmetic);
    if (is_measured(evidence, kernel, input.device, calibration) || seen[cell]) continue;
    seen[cell] = true;
    words.push_back(concat(cost_kind_name(kernel.kind), " at ", arithmetic_name(arithmetic)));
  }
  return join(words);
}

// A product in an arithmetic in which none was measured on the device, although other devices' were.
bool is_of_other_devices(const Evidence& evidence, const Kernel& kernel, const Device& device) {
  const auto of_device = evidence.device_arithmetics.find(device.name);
  if (of_device == evidence.device_arithmetics.end() || !runs_matrix_product(kernel)) return false;
  return !of_device->second.test(static_cast<std::size_t>(executed_arithmetic(kernel, device)));
}

std::string arithmetics_of_other_devices(const Evidence& evidence, const LatencyInput& input) {
  if (is_measured_alone(evidence, input)) return {};
  std::bitset<kNumArithmetics> found;
  for (const Kernel& kernel : input.kernels.rows) {
    if (!is_of_other_devices(evidence, kernel, input.device)) continue;
    found.set(static_cast<std::size_t>(executed_arithmetic(kernel, input.device)));
  }
  std::vector<std::string> words;
  for (std::size_t id = 0; id < kNumArithmetics; ++id) {
    if (found.test(id)) words.emplace_back(arithmetic_name(static_cast<Arithmetic>(id)));
  }
  return join(words);
}

// Of the launches: what an operator without a cost rule takes is not known.
double unknown_share(const Kernels& kernels) {
  if (kernels.unknown_operators.empty()) return 0;
  return static_cast<double>(kernels.unknown_operators.size()) /
         static_cast<double>(std::max<std::int64_t>(kernels.num_launches, 1));
}

std::string_view provenance_of(const Evidence& evidence, const Coverage& coverage) {
  if (!evidence.is_fitted) return "modelled";
  if (!coverage.device_measured || !coverage.whole_device || !coverage.runtime_measured || !coverage.batch_in_range) {
    return "extrapolated";
  }
  const bool is_fitted = coverage.version_measured && coverage.precision_measured && coverage.kinds_measured;
  return is_fitted ? "fitted" : "interpolated";
}

std::vector<std::string> notes_of(const Evidence& evidence, const Coverage& coverage, const LatencyInput& input,
                                  const Calibration* calibration) {
  std::vector<std::string> notes;
  if (!evidence.is_fitted) notes.push_back(concat("predictor '", evidence.predictor, "' is physics alone"));
  if (!coverage.device_measured) notes.push_back(concat("device ", input.device.name, " was not measured"));
  if (!input.device.is_gpu && evidence.terms.cpu > 0) {
    notes.push_back("fitted on GPUs: of CPUs only what kernels and launches take longer there on average is known");
  }
  if (!coverage.whole_device) {
    notes.push_back(evidence.part_rows == 0
                        ? concat("partition ", input.partition.name, ": only whole devices were measured")
                        : concat("partition ", input.partition.name, ": ", evidence.part_rows,
                                 " calls on parts of devices were measured, too few to tell how far off they are"));
  }
  if (!coverage.runtime_measured) notes.push_back(concat("runtime ", input.kernels.runtime, " was not measured"));
  if (!input.unmeasured_version.empty()) {
    notes.push_back(concat(input.kernels.runtime, " by ", input.unmeasured_version,
                           " was not measured: ", input.version, " stands for it"));
  }
  if (is_version_of_other_devices(evidence, input)) {
    notes.push_back(concat(input.kernels.runtime, " by ", input.version, " was measured on other devices only"));
  }
  const std::string elsewhere = arithmetics_of_other_devices(evidence, input);
  if (!elsewhere.empty()) {
    notes.push_back(concat("products at ", elsewhere, " were measured on other devices only"));
  } else if (!coverage.precision_measured) {
    notes.push_back(concat("precision ", input.kernels.precision, " was not measured"));
  }
  if (!coverage.kinds_measured) {
    notes.push_back(concat("efficiency by analogy, not measured: ", unmeasured_kinds(evidence, input, calibration)));
  }
  if (!coverage.batch_in_range) {
    notes.push_back(concat("batch ", input.graph.batch, " is outside the measured ", evidence.smallest_batch, " to ",
                           evidence.largest_batch));
  }
  if (!input.kernels.unknown_operators.empty()) {
    notes.push_back(concat("operators without a cost rule: ", join(input.kernels.unknown_operators)));
  }
  return notes;
}

Evidence read_evidence(const Checkpoint& checkpoint) {
  const Json& manifest = checkpoint.manifest;
  const Json& found = manifest.at("evidence");
  Evidence evidence;
  evidence.predictor = manifest.at("predictor").text();
  evidence.is_fitted = found.at("is_fitted").boolean();
  evidence.devices = names_of(found.at("devices"));
  evidence.runtimes = names_of(found.at("runtimes"));
  if (const Json* versions = found.find("versions")) {
    for (const auto& [name, of_runtime] : versions->object()) evidence.versions[name] = names_of(of_runtime);
  }
  if (const Json* devices = found.find("device_versions")) {
    for (const auto& [device, of_device] : devices->object()) {
      for (const auto& [name, of_runtime] : of_device.object()) {
        evidence.device_versions[device][name] = names_of(of_runtime);
      }
    }
  }
  evidence.precisions = names_of(found.at("precisions"));
  evidence.device_arithmetics = arithmetics_of(found.find("device_arithmetics"));
  evidence.operator_arithmetics = arithmetics_of(found.find("operator_arithmetics"));
  evidence.smallest_batch = found.at("smallest_batch").integer();
  evidence.largest_batch = found.at("largest_batch").integer();
  if (const Json* parts = found.find("part_rows")) evidence.part_rows = parts->integer();
  const Json& rows = found.at("rows");
  for (std::size_t kind = 0; kind < kNumCostKinds; ++kind) {
    const Json* of_kind = rows.find(cost_kind_name(static_cast<CostKind>(kind)));
    if (of_kind == nullptr) continue;
    for (std::size_t arithmetic = 0; arithmetic < kNumArithmetics; ++arithmetic) {
      const Json* count = of_kind->find(arithmetic_name(static_cast<Arithmetic>(arithmetic)));
      if (count != nullptr) evidence.rows[kind][arithmetic] = count->integer();
    }
  }
  const Json& terms = manifest.at("interval_terms");
  evidence.terms = {.log_bias = term(terms, "log_bias"),
                    .known_device = term(terms, "known_device"),
                    .unknown_device = term(terms, "unknown_device"),
                    .device_sd = term(terms, "device_sd"),
                    .runtime_sd = term(terms, "runtime_sd"),
                    .kind_sd = term(terms, "kind_sd"),
                    .host_sd = term(terms, "host_sd")};
  if (const Json* cpu = manifest.find("cpu"))
    evidence.terms.cpu = positive_value("cpu half_width", cpu->at("half_width"));
  read_situation(checkpoint, evidence);
  return evidence;
}

}  // namespace

Evidence evidence_of(const Checkpoint& checkpoint) {
  return read_from(checkpoint.path, [&] { return read_evidence(checkpoint); });
}

ChosenVersion choose_version(const Evidence& evidence, std::string_view runtime, std::string_view asked) {
  const auto known = evidence.versions.find(runtime);
  if (known == evidence.versions.end()) {
    throw InvalidArgumentError(
        concat("no versions of runtime '", runtime, "' were told apart: leave runtime_version out, got '", asked, "'"));
  }
  const auto is_meant = [&](const std::string& version) {
    return version == asked || version.starts_with(concat(asked, "."));
  };
  const auto found = std::find_if(known->second.rbegin(), known->second.rend(), is_meant);
  if (found != known->second.rend()) return {*found, {}};
  const std::string_view other = version_standing_for(asked, known->second);
  if (!other.empty()) return {other, asked};
  throw InvalidArgumentError(concat("version '", asked, "' of runtime '", runtime, "' was not measured; measured: '",
                                    join(known->second, "', '"), "'; leave runtime_version out for any other"),
                             {.valid = known->second});
}

Coverage coverage(const Evidence& evidence, const LatencyInput& input, const Calibration* calibration) {
  Coverage result;
  result.device_measured = contains(evidence.devices, input.device.name) || is_measured_alone(evidence, input);
  result.whole_device = input.partition.sm_share >= 1 && input.partition.bandwidth_share >= 1;
  result.runtime_measured = contains(evidence.runtimes, input.kernels.runtime);
  result.version_measured = is_version_measured(evidence, input);
  // "default" names no arithmetic of its own: the kinds below say which were measured.
  result.precision_measured =
      (precision(input.kernels.precision).by_runtime || contains(evidence.precisions, input.kernels.precision)) &&
      arithmetics_of_other_devices(evidence, input).empty();
  result.kinds_measured = are_kinds_measured(evidence, input, nullptr);
  result.batch_in_range = input.graph.batch >= evidence.smallest_batch && input.graph.batch <= evidence.largest_batch;
  result.provenance = provenance_of(evidence, result);
  if (calibration != nullptr && calibration->scale) {
    count_as_measured(*calibration, input, result);
    result.kinds_measured = are_kinds_measured(evidence, input, calibration);
    // A few timings of the user's are less than what "fitted" promises.
    if (result.provenance != "fitted") {
      result.provenance = provenance_of(evidence, result) == "extrapolated" ? "extrapolated" : "interpolated";
    }
  }
  if (result.provenance != "fitted") result.notes = notes_of(evidence, result, input, calibration);
  return result;
}

LatencyInterval latency_interval(const Evidence& evidence, const Coverage& coverage, const LatencyInput& input,
                                 const LatencyOutput& output, const Calibration* calibration) {
  const IntervalTerms& terms = evidence.terms;
  const bool known = coverage.device_measured && coverage.whole_device;
  const bool kernels_calibrated = calibration != nullptr && calibration->scale.has_value();
  const bool host_calibrated = calibration != nullptr && calibration->host_scale.has_value();
  const bool is_of_cpus = !kernels_calibrated && !input.device.is_gpu && terms.cpu > 0;
  double conformal = 0;
  double log_bias = terms.log_bias;
  double variance = 0;
  if (kernels_calibrated) {
    conformal = kNormal80 * calibration->log_sd;
    log_bias = 0;  // the scale holds it
  } else if (is_of_cpus) {
    conformal = terms.cpu;  // what hosts and machines differ by is in it
    log_bias = 0;           // the CPUs' factors hold it
  } else {
    const Kernel* alone = lone_kernel(input);
    const std::optional<double> lone = alone == nullptr ? std::nullopt : lone_width(evidence, *alone);
    const auto own = [&](bool as_known) {
      const double of_network =
          (as_known ? terms.known_device : terms.unknown_device) * relative_width(evidence, input, as_known);
      return std::max(lone.value_or(of_network), kNormal80 * kSmallestSpread);
    };
    conformal = std::hypot(own(false), kNormal80 * terms.device_sd);
    // A device of few measured networks is no worse known than one of none.
    if (known) conformal = std::min(conformal, own(true));
  }
  if (!kernels_calibrated && !coverage.runtime_measured) variance += terms.runtime_sd * terms.runtime_sd;
  if (output.latency_s > 0) {
    const bool tells_elsewhere = !kernels_calibrated && !is_measured_alone(evidence, input);
    double unmeasured_s = 0;
    double elsewhere_s = 0;
    for (std::size_t k = 0; k < input.kernels.rows.size(); ++k) {
      const Kernel& kernel = input.kernels.rows[k];
      if (!is_measured(evidence, kernel, input.device, calibration)) {
        unmeasured_s += output.kernel_s.at(k);
      } else if (tells_elsewhere && is_of_other_devices(evidence, kernel, input.device)) {
        elsewhere_s += output.kernel_s.at(k);
      }
    }
    const double unmeasured_share = unmeasured_s / output.latency_s + unknown_share(input.kernels);
    const double kind_part = terms.kind_sd * std::min(1.0, unmeasured_share);
    variance += kind_part * kind_part;
    // As far as devices differ from each other, so far may one arithmetic of a device.
    const double elsewhere_part = terms.device_sd * std::min(1.0, elsewhere_s / output.latency_s);
    variance += elsewhere_part * elsewhere_part;
    if (!host_calibrated && !is_of_cpus)
      variance += terms.host_sd * terms.host_sd * output.host_wait_s / output.latency_s;
  }
  const double half_width = std::sqrt(conformal * conformal + kNormal80 * kNormal80 * variance);
  return {.lower_s = output.latency_s * std::min(1.0, std::exp(log_bias - half_width)),
          .upper_s = output.latency_s * std::max(1.0, std::exp(log_bias + half_width)),
          .log_half_width = half_width};
}

}  // namespace latpred
