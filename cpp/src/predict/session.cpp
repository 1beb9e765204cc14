#include "latpred/session.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <thread>
#include <utility>

#include "latpred/error.h"
#include "latpred/features.h"
#include "latpred/input_copy.h"
#include "latpred/kernel.h"
#include "latpred/runtime.h"
#include "latpred/text.h"
#include "memory_interval.h"
#include "mig.h"
#include "units.h"

namespace latpred {
namespace {

// The predictor that answers when none is named: the first of the table, which lists the best validated one first.
const PredictorRow& chosen_predictor(std::string_view name) {
  return name.empty() ? predictors().front() : predictor_row(name);
}

// A calibration corrects one predictor, so that one answers unless another is named.
const PredictorRow& asked_predictor(const PredictRequest& request) {
  return chosen_predictor(request.predictor.empty() && request.calibration ? request.calibration->predictor
                                                                           : request.predictor);
}

// Why no predictor of the table answers for this machine.
void refuse_unknown_physics(const Device& device) {
  if (device.bandwidth_bytes_per_s > 0) return;
  throw InvalidArgumentError(concat("device 'cpu' is ", device.name,
                                    ", whose peaks and bandwidth no table has; ask a trained predictor ",
                                    "(predictor=, see train()), or name a processor of the device table"));
}

// The version that is asked for; empty: none. A calibration's factors hold what its own version does.
ChosenVersion chosen_version(const Predictor& predictor, const Runtime& runtime, const PredictRequest& request) {
  if (request.runtime_version.empty()) return {};
  if (request.calibration) {
    throw InvalidArgumentError(concat("calibration '", request.calibration->name,
                                      "' holds what the version that was timed does: leave runtime_version out, got '",
                                      request.runtime_version, "'"));
  }
  return choose_version(predictor.evidence(), runtime.name, request.runtime_version);
}

// Everything that the line computes before the answer is put together.
struct Run {
  std::shared_ptr<const latpred::Device> host;  // nullptr: a device of the table
  const latpred::Device& device;
  const latpred::Runtime& runtime;
  ChosenVersion version;  // of the runtime; empty: not said
  latpred::Partition partition;
  Kernels kernels;
  Features features;
  LatencyOutput latency;
  double copy_s = 0;
  const MeasuredCall* record = nullptr;  // the user's own timing of this call, which the times above then add up to
};

LatencyInput input_of(const Graph& graph, const Run& run) {
  return {graph,         run.kernels, run.features,         run.device,
          run.partition, run.runtime, run.version.measured, run.version.unmeasured};
}

void apply_calibration(const Graph& graph, const PredictRequest& request, Run& run) {
  const Calibration& calibration = *request.calibration;
  check_applies(calibration, input_of(graph, run), asked_predictor(request).name);
  run.latency = calibrated(calibration, run.kernels, std::move(run.latency));
  const double predicted_s = run.latency.latency_s + run.copy_s;
  if (predicted_s <= 0) return;
  run.record = find_record(calibration, graph, request.input_on);
  if (run.record == nullptr) return;
  const double factor = run.record->latency_s / predicted_s;
  for (double& seconds : run.latency.kernel_s) seconds *= factor;
  run.latency.host_s *= factor;
  run.latency.host_wait_s *= factor;
  run.latency.latency_s *= factor;
  run.copy_s *= factor;
}

Run run_line(const Graph& graph, const PredictRequest& request, const Predictor& predictor) {
  const Device& device_row = asked_device(request);
  const Runtime& runtime_row = asked_runtime(request, device_row);
  refuse_unknown_physics(device_row);
  check_units(request, device_row, runtime_row);
  const ChosenVersion version = chosen_version(predictor, runtime_row, request);
  const Partition part = partition(device_row, request.partition);
  Kernels kernels = fuse(graph, runtime_row.name, request.precision);
  std::shared_ptr<const Device> host;
  if (&device_row == request.host.get() && !request.host_reads.empty()) {
    host = std::make_shared<Device>(with_reads(device_row, request.host_reads, working_set_bytes(kernels), part.sms));
  }
  Run run{host, host ? *host : device_row, runtime_row, version, part, std::move(kernels), {}, {}, 0, nullptr};
  run.features = featurize(run.kernels, run.device, run.partition, false);
  run.latency = predictor.latency(input_of(graph, run));
  run.copy_s = input_copy_s(graph, run.device, request.input_on);
  if (request.calibration) apply_calibration(graph, request, run);
  return run;
}

// Energy is power times time: both uncertainties add on the log scale. The board cannot leave its limits.
Interval energy_interval(const EnergyEstimate& energy, const Interval& latency_s, double latency_point_s,
                         double latency_log_half_width) {
  if (latency_point_s == 0) return {0, 0};  // a network of views runs nothing
  const double half_width = std::hypot(latency_log_half_width, energy.power_log_half_width);
  const double lowest = energy.lower_j * latency_s.lower / latency_point_s;
  const double highest = energy.upper_j * latency_s.upper / latency_point_s;
  return {std::max(lowest, energy.energy_j * std::exp(-half_width)),
          std::min(highest, energy.energy_j * std::exp(half_width))};
}

// Everything of the answer that does not hang on which predictor answers; `kernels` says what runs.
Prediction start_answer(const Graph& graph, const PredictRequest& request, const Device& device, const Kernels& kernels,
                        std::string_view partition, std::string_view predictor) {
  Prediction result;
  result.device = device.name;
  result.partition = partition;
  result.runtime = kernels.runtime;
  result.precision = request.precision;
  result.predictor = predictor;
  result.batch = graph.batch;
  result.input_on = request.input_on;
  result.autograd = request.autograd;
  result.mig_rule = request.mig_rule;
  result.unknown_operators = kernels.unknown_operators;
  result.memory = estimate_memory(graph, kernels, device, {.autograd = request.autograd});
  result.memory_interval_bytes = memory_interval(result.memory);
  result.memory_provenance = "modelled";
  result.mig_profile = pick_mig_profile(device, request.mig_rule, result.memory, result.memory_interval_bytes);
  return result;
}

// What no latency can be right about: such a call ends for want of memory.
void note_memory(const Device& device, const Partition& part, Prediction& result) {
  if (result.memory.total_bytes <= part.memory_bytes) return;
  constexpr double kMegabyte = 1e6;
  const std::string where = part.name.empty() ? std::string(device.name) : concat(device.name, " ", part.name);
  result.coverage.push_back(concat(
      "does not fit: needs ", grouped_digits(std::llround(result.memory.total_bytes / kMegabyte)), " MB of memory, ",
      where, " has ", grouped_digits(std::llround(part.memory_bytes / kMegabyte)), " MB for it"));
}

void refuse_outside_evidence(const Prediction& prediction) {
  if (!prediction.unknown_operators.empty()) {
    throw UnsupportedOperatorError(concat("strict: no table knows ", join(prediction.unknown_operators),
                                          "; without strict=True they are costed as memory traffic"),
                                   {.op = prediction.unknown_operators.front()});
  }
  if (prediction.latency_provenance == "modelled") {
    throw InvalidArgumentError(concat("strict: predictor '", prediction.predictor, "' was fitted on nothing: ",
                                      join(prediction.coverage, "; "), "; leave out strict=True or the predictor"));
  }
  if (prediction.latency_provenance == "extrapolated") {
    throw InvalidArgumentError(
        concat("strict: outside what the predictor was fitted on: ", join(prediction.coverage, "; "),
               "; without strict=True the answer carries a wider interval"));
  }
}

std::vector<std::string> member_names(const Graph& graph, const Kernel& kernel) {
  std::vector<std::string> names;
  names.reserve(kernel.members.size());
  for (const NodeId id : kernel.members) names.push_back(graph.nodes[id].name);
  return names;
}

Prediction predict_given(const Graph& graph, const PredictRequest& request) {
  if (!request.runtime_version.empty()) {
    throw InvalidArgumentError(concat("predictor '", request.predictor, "' tells no versions of runtimes apart: leave ",
                                      "runtime_version out, got '", request.runtime_version, "'"));
  }
  if (!request.partition.empty()) {
    throw InvalidArgumentError(concat("predictor '", request.predictor, "' answers for a whole device: leave ",
                                      "partition out, got '", request.partition, "'"));
  }
  const Device& device_row = asked_device(request);
  const Runtime& runtime_row = asked_runtime(request, device_row);
  const Kernels kernels = fuse(graph, runtime_row.name, request.precision);
  Prediction result = start_answer(graph, request, device_row, kernels, "", request.predictor);
  result.input_copy_s = input_copy_s(graph, device_row, request.input_on);
  result.latency_s = request.given->latency_s + result.input_copy_s;
  result.latency_interval_s = {request.given->interval_s.lower + result.input_copy_s,
                               request.given->interval_s.upper + result.input_copy_s};
  result.latency_provenance = request.given->provenance;
  result.coverage = request.given->coverage;
  note_memory(device_row, partition(device_row, ""), result);
  if (request.strict) refuse_outside_evidence(result);
  return result;
}

void refuse_table_of_parts(const PredictRequest& request, std::string_view table) {
  if (request.given == nullptr) return;
  throw InvalidArgumentError(concat("predictor '", request.predictor, "' answers for a whole call: it has no ", table));
}

}  // namespace

Session::Session(std::string data_directory) : data_directory_(std::move(data_directory)) {}

Session::~Session() = default;

const Predictor& Session::loaded(std::string_view name) const {
  const PredictorRow& row = chosen_predictor(name);
  const std::lock_guard lock(mutex_);
  auto found = loaded_.find(row.name);
  if (found == loaded_.end()) {
    const std::string path = concat(data_directory_, "/predictors/", row.checkpoint);
    found = loaded_.emplace(std::string(row.name), row.make(path)).first;
  }
  return *found->second;
}

const Evidence& Session::evidence(std::string_view predictor) const { return loaded(predictor).evidence(); }

Prediction Session::predict(const Graph& graph, const PredictRequest& request) const {
  if (request.given) return predict_given(graph, request);
  const PredictorRow& predictor = asked_predictor(request);
  const Predictor& used = loaded(predictor.name);
  const Run run = run_line(graph, request, used);
  const LatencyInput input = input_of(graph, run);
  const Calibration* calibration = request.calibration.get();
  const Coverage covered = coverage(used.evidence(), input, calibration);
  LatencyInterval interval;
  if (run.record != nullptr) {
    interval = record_interval(*run.record);
    interval.lower_s -= run.copy_s;  // the record holds the copy, which is added below
    interval.upper_s -= run.copy_s;
  } else {
    interval = latency_interval(used.evidence(), covered, input, run.latency, calibration);
  }

  Prediction result = start_answer(graph, request, run.device, run.kernels, run.partition.name, predictor.name);
  result.runtime_version = run.version.measured;
  if (calibration != nullptr) result.calibration = calibration->name;

  result.latency_s = run.latency.latency_s + run.copy_s;
  result.host_s = run.latency.host_s;
  result.host_wait_s = run.latency.host_wait_s;
  result.input_copy_s = run.copy_s;
  result.latency_interval_s = {interval.lower_s + run.copy_s, interval.upper_s + run.copy_s};
  result.latency_provenance = covered.provenance;
  result.coverage = covered.notes;
  if (run.host) result.coverage.push_back(run.host->note);
  note_memory(run.device, run.partition, result);
  if (run.record != nullptr) {
    result.latency_provenance = "measured";
    result.coverage.clear();
  }
  result.energy =
      estimate_energy(run.kernels, run.features, run.latency.kernel_s, result.latency_s, run.device, run.partition);
  if (result.energy) {
    result.energy_interval_j =
        energy_interval(*result.energy, result.latency_interval_s, result.latency_s, interval.log_half_width);
    result.energy_provenance = energy_provenance(*result.energy, result.latency_provenance);
  }
  if (request.strict) refuse_outside_evidence(result);
  return result;
}

std::vector<Prediction> Session::predict_many(const std::vector<std::shared_ptr<const Graph>>& graphs,
                                              const std::vector<PredictRequest>& requests, int num_threads) const {
  std::vector<Prediction> results(graphs.size() * requests.size());
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto work = [&] {
    for (std::size_t index = next++; index < results.size(); index = next++) {
      try {
        results[index] = predict(*graphs[index / requests.size()], requests[index % requests.size()]);
      } catch (...) {
        const std::lock_guard lock(failure_mutex);
        if (!failure) failure = std::current_exception();
        next = results.size();
      }
    }
  };
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t count = std::min<std::size_t>(num_threads > 0 ? num_threads : cores, results.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < count; ++i) threads.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
  return results;
}

std::vector<KernelRow> Session::kernels(const Graph& graph, const PredictRequest& request) const {
  refuse_table_of_parts(request, "times of kernels");
  const Run run = run_line(graph, request, loaded(asked_predictor(request).name));
  std::vector<KernelRow> rows;
  rows.reserve(run.kernels.rows.size() + 2);
  for (std::size_t i = 0; i < run.kernels.rows.size(); ++i) {
    const Kernel& kernel = run.kernels.rows[i];
    const KernelPhysics& physics = run.features.physics[i];
    const auto repeat = static_cast<double>(kernel.repeat);
    rows.push_back({.name = kernel.name,
                    .kind = std::string(cost_kind_name(kernel.kind)),
                    .arithmetic = std::string(arithmetic_name(executed_arithmetic(kernel, run.device))),
                    .members = member_names(graph, kernel),
                    .repeat = kernel.repeat,
                    .latency_s = run.latency.kernel_s[i],
                    .roofline_s = physics.roofline_s * repeat,
                    .macs = kernel.macs * repeat,
                    .flops = kernel.flops * repeat,
                    .bytes = kernel.bytes() * repeat,
                    .m = kernel.m,
                    .n = kernel.n,
                    .k = kernel.k,
                    .tiles = physics.tiles,
                    .waves = physics.waves,
                    .compute_bound = physics.compute_bound});
  }
  if (run.latency.host_wait_s > 0) {
    rows.push_back({.name = "host_wait", .kind = "host_wait", .latency_s = run.latency.host_wait_s});
  }
  if (run.copy_s > 0) rows.push_back({.name = "input_copy", .kind = "input_copy", .latency_s = run.copy_s});
  return rows;
}

std::vector<PartitionRow> Session::partitions(const Graph& graph, const PredictRequest& request) const {
  std::vector<PartitionRow> rows;
  const std::vector<Partition>& profiles = mig_profiles(asked_device(request));
  if (!profiles.empty()) refuse_table_of_parts(request, "table of partitions");
  for (const Partition& profile : profiles) {
    PredictRequest part = request;
    part.partition = profile.name;
    part.strict = false;
    if (request.calibration) {
      const double device_sd = evidence(asked_predictor(request).name).terms.device_sd;
      part.calibration =
          std::make_shared<Calibration>(carried_to_partition(*request.calibration, profile.name, device_sd));
    }
    const Prediction prediction = predict(graph, part);
    rows.push_back({.name = profile.name,
                    .sms = profile.sms,
                    .memory_bytes = profile.memory_bytes,
                    .max_instances = profile.max_instances,
                    .latency_s = prediction.latency_s,
                    .latency_interval_s = prediction.latency_interval_s,
                    .memory_share = prediction.memory.total_bytes / profile.memory_bytes,
                    .fits = prediction.memory_interval_bytes.upper <= profile.memory_bytes});
  }
  return rows;
}

}  // namespace latpred
