#include "latpred/calibration.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "host.h"
#include "latpred/error.h"
#include "latpred/quantile.h"
#include "latpred/text.h"
#include "spread.h"

namespace latpred {
namespace {

void check_factor(std::string_view what, double factor) {
  if (std::isfinite(factor) && factor > 0) return;
  throw InvalidArgumentError(concat("calibration: ", what, " must be a positive number, got ", factor));
}

std::string partition_words(std::string_view partition) {
  return partition.empty() ? "the whole device" : concat("partition ", partition);
}

}  // namespace

void check_calibration(const Calibration& calibration) {
  if (calibration.scale) check_factor("scale", *calibration.scale);
  if (calibration.host_scale) check_factor("host_scale", *calibration.host_scale);
  for (std::size_t kind = 0; kind < kNumCostKinds; ++kind) {
    check_factor(concat("the factor of ", cost_kind_name(static_cast<CostKind>(kind))), calibration.kind_factors[kind]);
  }
  if (!std::isfinite(calibration.log_sd) || calibration.log_sd < 0) {
    throw InvalidArgumentError(concat("calibration: log_sd must be a number >= 0, got ", calibration.log_sd));
  }
  for (const MeasuredCall& record : calibration.records) {
    check_factor("latency_s of a record", record.latency_s);
    if (record.batch < 1) {
      throw InvalidArgumentError(concat("calibration: batch of a record must be >= 1, got ", record.batch));
    }
    if (record.spread && !(std::isfinite(*record.spread) && *record.spread >= 0)) {
      throw InvalidArgumentError(concat("calibration: spread of a record must be a number >= 0, got ", *record.spread));
    }
  }
}

void check_applies(const Calibration& calibration, const LatencyInput& asked, std::string_view predictor) {
  const auto refuse = [&](std::string_view made_for, std::string_view found) {
    throw InvalidArgumentError(concat("calibration '", calibration.name, "' was made for ", made_for, ", asked is ",
                                      found, "; ask for what it was made for, or calibrate with timings of that"));
  };
  const auto check = [&](std::string_view what, std::string_view made_for, std::string_view found) {
    if (made_for != found) refuse(concat(what, " '", made_for, "'"), concat(what, " '", found, "'"));
  };
  check("device", calibration.device, asked.device.name);
  if (calibration.partition != asked.partition.name) {
    refuse(partition_words(calibration.partition), partition_words(asked.partition.name));
  }
  if (!calibration.runtime.empty()) check("runtime", calibration.runtime, asked.kernels.runtime);
  if (!calibration.precision.empty()) check("precision", calibration.precision, asked.kernels.precision);
  check("predictor", calibration.predictor, predictor);
}

LatencyOutput calibrated(const Calibration& calibration, const Kernels& kernels, LatencyOutput output) {
  for (std::size_t k = 0; k < output.kernel_s.size(); ++k) {
    const auto kind = static_cast<std::size_t>(kernels.rows[k].kind);
    output.kernel_s[k] *= calibration.scale.value_or(1) * calibration.kind_factors[kind];
  }
  return join_host(std::move(output.kernel_s), output.host_s * calibration.host_scale.value_or(1));
}

const MeasuredCall* find_record(const Calibration& calibration, const Graph& graph, std::string_view input_on) {
  // Timings of unnamed conditions are no record of a named one.
  if (calibration.records.empty() || calibration.runtime.empty() || calibration.precision.empty() ||
      calibration.input_on != input_on) {
    return nullptr;
  }
  const std::uint64_t hash = graph.hash();
  const auto found = std::find_if(
      calibration.records.begin(), calibration.records.end(),
      [&](const MeasuredCall& record) { return record.graph_hash == hash && record.batch == graph.batch; });
  return found == calibration.records.end() ? nullptr : &*found;
}

LatencyInterval record_interval(const MeasuredCall& record) {
  const double half_width = kNormal80 * std::max(kSmallestSpread, record.spread.value_or(0));
  return {.lower_s = record.latency_s * std::exp(-half_width),
          .upper_s = record.latency_s * std::exp(half_width),
          .log_half_width = half_width};
}

bool is_timed(const Calibration& calibration, CostKind kind) {
  return calibration.scale && !calibration.precision.empty() && calibration.timed_kinds[static_cast<std::size_t>(kind)];
}

void count_as_measured(const Calibration& calibration, const LatencyInput& input, Coverage& coverage) {
  coverage.device_measured = true;
  coverage.whole_device = true;  // or the very part that was timed
  if (!calibration.runtime.empty()) coverage.runtime_measured = true;
  if (!calibration.precision.empty()) coverage.precision_measured = true;
  const auto [smallest, largest] =
      std::minmax_element(calibration.records.begin(), calibration.records.end(),
                          [](const MeasuredCall& a, const MeasuredCall& b) { return a.batch < b.batch; });
  if (smallest != calibration.records.end() && smallest->batch <= input.graph.batch &&
      input.graph.batch <= largest->batch) {
    coverage.batch_in_range = true;
  }
}

Calibration carried_to_partition(Calibration calibration, std::string_view partition, double device_sd) {
  if (calibration.partition == partition) return calibration;
  calibration.partition = partition;
  calibration.records.clear();
  calibration.log_sd = std::hypot(calibration.log_sd, device_sd);
  return calibration;
}

}  // namespace latpred
