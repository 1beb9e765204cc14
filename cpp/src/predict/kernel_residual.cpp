#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host.h"
#include "latpred/checkpoint.h"
#include "latpred/error.h"
#include "latpred/interval.h"
#include "latpred/kernel_terms.h"
#include "latpred/text.h"
#include "mlp_ensemble.h"
#include "predictors.h"

namespace latpred {
namespace {

// What the checkpoint's last axes mean, in their order.
struct Outputs {
  double log_inverse_compute = 0;
  double log_inverse_memory = 0;
  double wave_logit = 0;  // of the exponent of the wave factor
  double log_gap = 0;
  double cycles_logit = 0;  // of the exponent of the SMs' cycles in memory time
};
constexpr std::int64_t kNumOutputs = 5;

struct DeviceEffects {
  std::array<double, kNumComputeUnits> compute{};
  double memory = 0;
  double gap = 0;
};
constexpr std::int64_t kNumDeviceEffects = kNumComputeUnits + 2;

struct RuntimeEffects {
  std::array<double, kNumKernelLibraries> compute{};  // none for kernels of no library
  double memory = 0;
  double gap = 0;
};
constexpr std::int64_t kNumRuntimeEffects = kNumKernelLibraries + 1;

constexpr double kKernelNorm = 3;  // joins compute and memory time; 2 to 6 fit alike

double logistic(double value) { return 1 / (1 + std::exp(-value)); }

double join(double first, double second) {
  const double longer = std::max(first, second);
  if (longer <= 0) return 0;
  return longer * std::cbrt(std::pow(first / longer, kKernelNorm) + std::pow(second / longer, kKernelNorm));
}

// The mean over the first axis of an array [E, ...].
std::vector<double> mean_over_members(const Checkpoint& checkpoint, const std::string& name, std::int64_t members,
                                      std::vector<std::int64_t> shape) {
  std::int64_t size = 1;
  for (const std::int64_t length : shape) size *= length;
  shape.insert(shape.begin(), members);
  const std::vector<double>& values = checkpoint.array(name, shape);
  std::vector<double> mean(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < values.size(); ++i) {
    mean[i % mean.size()] += values[i] / static_cast<double>(members);
  }
  return mean;
}

std::vector<std::string> names(const Checkpoint& checkpoint, const std::string& key) {
  std::vector<std::string> result;
  for (const Json& name : checkpoint.manifest.at(key).array()) result.push_back(name.text());
  return result;
}

class KernelResidual : public Predictor {
 public:
  explicit KernelResidual(const std::string& path) {
    const Checkpoint checkpoint = read_checkpoint(path, "kernel_residual");
    evidence_ = evidence_of(checkpoint);
    read_from(path, [&] { read(checkpoint); });
  }

  [[nodiscard]] LatencyOutput latency(const LatencyInput& input) const override {
    const std::vector<Kernel>& kernels = input.kernels.rows;
    const std::vector<Outputs> learnt = outputs(kernels, input);
    const auto device = devices_.find(input.device.name);
    const DeviceEffects on_device = device == devices_.end() ? DeviceEffects{} : device->second;
    const auto runtime = runtimes_.find(concat(input.runtime.name, "|", version_of(input)));
    const RuntimeEffects by_runtime = runtime == runtimes_.end() ? RuntimeEffects{} : runtime->second;
    const double kernels_factor = input.device.is_gpu ? 1 : cpu_kernels_factor_;
    const double of_alike = evidence_.alike.factor(input);
    std::vector<double> kernel_s;
    kernel_s.reserve(kernels.size());
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      const KernelTerms terms = kernel_terms(kernels[k], input.device, input.partition);
      const double once_s = seconds(terms, learnt[k], on_device, by_runtime);
      kernel_s.push_back(once_s * kernels_factor * of_alike * static_cast<double>(kernels[k].repeat));
    }
    const auto launching = launch_factors_.find(concat(input.device.name, "|", input.runtime.name));
    const double of_device = launching == launch_factors_.end() ? 1 : launching->second;
    const double factor = of_device * (input.device.is_gpu ? 1 : cpu_launches_factor_);
    return add_host(input, std::move(kernel_s), factor * of_alike * kind_factor(input));
  }

  [[nodiscard]] const Evidence& evidence() const override { return evidence_; }

 private:
  // The asked one; without one that of the device, where it ran a newer one than the runtime's usual.
  [[nodiscard]] std::string_view version_of(const LatencyInput& input) const {
    const auto of_device = default_versions_.find(concat(input.device.name, "|", input.runtime.name));
    return input.version.empty() && of_device != default_versions_.end() ? of_device->second : input.version;
  }

  void read(const Checkpoint& checkpoint) {
    check_columns(checkpoint);
    const std::int64_t members = checkpoint.manifest.at("members").integer();
    if (members < 1) throw CheckpointError(concat("needs at least one member, has ", members));
    std::vector<std::int64_t> widths{static_cast<std::int64_t>(term_columns().size())};
    for (const Json& width : checkpoint.manifest.at("hidden").array()) widths.push_back(width.integer());
    widths.push_back(kNumOutputs);
    mlp_ = MlpEnsemble(checkpoint, members, widths, {kOutputBounds.begin(), kOutputBounds.end()});

    const std::vector<double> base = mean_over_members(checkpoint, "base", members, {kNumOutputs});
    const std::vector<double> bias = mean_over_members(checkpoint, "kind_bias", members, {kNumCostKinds, kNumOutputs});
    for (std::size_t kind = 0; kind < kNumCostKinds; ++kind) {
      const double* row = bias.data() + kind * kNumOutputs;
      kind_outputs_[kind] = {base[0] + row[0], base[1] + row[1], base[2] + row[2], base[3] + row[3], base[4] + row[4]};
    }
    const std::vector<double> l2 = mean_over_members(checkpoint, "l2", members, {2});
    l2_share_ = std::exp(l2[0]);
    held_time_share_ = logistic(l2[1]);

    check_names(checkpoint, "memory_kinds", {kMemoryKindNames.begin() + 1, kMemoryKindNames.end()});
    const std::vector<double> of_memory =
        mean_over_members(checkpoint, "memory_effects", members, {static_cast<std::int64_t>(kNumMemoryKinds)});
    std::ranges::copy(of_memory, of_memory_.begin() + 1);

    const std::vector<std::string> devices = names(checkpoint, "device_effects");
    const std::vector<double> of_devices = mean_over_members(
        checkpoint, "device_effects", members, {static_cast<std::int64_t>(devices.size()), kNumDeviceEffects});
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const double* row = of_devices.data() + i * kNumDeviceEffects;
      DeviceEffects& effects = devices_[devices[i]];
      std::copy_n(row, kNumComputeUnits, effects.compute.begin());
      effects.memory = row[kNumComputeUnits];
      effects.gap = row[kNumComputeUnits + 1];
    }
    const std::vector<std::string> runtimes = names(checkpoint, "runtime_effects");
    const std::vector<double> of_runtimes = mean_over_members(
        checkpoint, "runtime_effects", members, {static_cast<std::int64_t>(runtimes.size()), kNumRuntimeEffects});
    for (std::size_t i = 0; i < runtimes.size(); ++i) {
      const double* row = of_runtimes.data() + i * kNumRuntimeEffects;
      runtimes_[runtimes[i]] = {{row[0], row[1], 0}, row[2], row[3]};
    }
    if (const Json* devices = checkpoint.manifest.find("default_versions")) {
      for (const auto& [device, of_device] : devices->object()) {
        for (const auto& [name, version] : of_device.object()) {
          default_versions_[concat(device, "|", name)] = version.text();
        }
      }
    }
    const std::vector<std::string> launches = names(checkpoint, "launch_effects");
    const std::vector<double> of_launches =
        mean_over_members(checkpoint, "launch_effects", members, {static_cast<std::int64_t>(launches.size())});
    for (std::size_t i = 0; i < launches.size(); ++i) launch_factors_[launches[i]] = std::exp(of_launches[i]);

    if (const Json* cpu = checkpoint.manifest.find("cpu")) {
      cpu_kernels_factor_ = positive_value("cpu kernels", cpu->at("kernels"));
      cpu_launches_factor_ = positive_value("cpu launches", cpu->at("launches"));
    }

    host_kind_runtimes_ = names(checkpoint, "host_kind_runtimes");
    const std::vector<double> of_kinds = mean_over_members(checkpoint, "host_kind_effects", members, {kNumCostKinds});
    std::ranges::transform(of_kinds, host_kind_factors_.begin(), [](double effect) { return std::exp(effect); });
  }

  static void check_columns(const Checkpoint& checkpoint) {
    std::vector<std::string> ours;
    for (const TermColumn& column : term_columns()) ours.push_back(column.name);
    check_names(checkpoint, "columns", ours);
  }
  // What an axis means must be the same in the file and here.
  static void check_names(const Checkpoint& checkpoint, const std::string& key, const std::vector<std::string>& ours) {
    const std::vector<std::string> found = names(checkpoint, key);
    for (std::size_t i = 0; i < std::max(found.size(), ours.size()); ++i) {
      const std::string expected = i < ours.size() ? ours[i] : "nothing";
      const std::string theirs = i < found.size() ? found[i] : "nothing";
      if (theirs != expected) {
        throw CheckpointError(
            concat("checkpoint '", checkpoint.path, "': entry ", i, " of ", key, " is '", theirs, "' in the file and '",
                   expected, "' in this build; fit the predictor again with this version"),
            {.path = checkpoint.path});
      }
    }
  }

  // Of the host's time for the launches: what it takes for their kinds and for views, on average.
  [[nodiscard]] double kind_factor(const LatencyInput& input) const {
    if (std::ranges::find(host_kind_runtimes_, input.runtime.name) == host_kind_runtimes_.end()) return 1;
    const auto taken = [&](CostKind kind, std::int64_t calls) {
      return static_cast<double>(calls) * host_kind_factors_[static_cast<std::size_t>(kind)];
    };
    double weighted = taken(CostKind::view, input.kernels.num_views);
    for (const Kernel& kernel : input.kernels.rows) weighted += taken(kernel.kind, kernel.repeat);
    const std::int64_t launches = input.kernels.num_launches;
    return launches > 0 ? weighted / static_cast<double>(launches) : 1;
  }

  // [K]; kernels with the same inputs share one run of the MLP.
  [[nodiscard]] std::vector<Outputs> outputs(const std::vector<Kernel>& kernels, const LatencyInput& input) const {
    const std::size_t width = term_columns().size();
    std::vector<double> columns(kernels.size() * width);  // [K, F]
    // By the columns' bytes; views of `columns`, which keeps its place.
    std::unordered_map<std::string_view, std::array<double, kNumOutputs>> answers;
    answers.reserve(kernels.size());
    std::vector<Outputs> result;
    result.reserve(kernels.size());
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      double* row = columns.data() + k * width;
      const KernelInRuntime in_runtime{kernels[k], input.device, input.runtime};
      fill_term_columns(in_runtime, row);
      const std::string_view bytes(reinterpret_cast<const char*>(row), width * sizeof(double));
      const auto [place, is_new] = answers.try_emplace(bytes);
      std::array<double, kNumOutputs>& learnt = place->second;
      if (is_new) mlp_.mean_output(row, learnt.data());
      const Outputs& of_kind = kind_outputs_[static_cast<std::size_t>(starting_kind(in_runtime))];
      result.push_back({of_kind.log_inverse_compute + learnt[0], of_kind.log_inverse_memory + learnt[1],
                        of_kind.wave_logit + learnt[2], of_kind.log_gap + learnt[3], of_kind.cycles_logit + learnt[4]});
    }
    return result;
  }

  // One execution. The same form as predictors/kernel_sums.cpp fits.
  [[nodiscard]] double seconds(const KernelTerms& terms, const Outputs& learnt, const DeviceEffects& on_device,
                               const RuntimeEffects& by_runtime) const {
    const double log_inverse_compute = learnt.log_inverse_compute +
                                       on_device.compute[static_cast<std::size_t>(terms.units)] +
                                       by_runtime.compute[static_cast<std::size_t>(terms.library)];
    const double factor = terms.feeding_factor * std::pow(terms.wave_factor, logistic(learnt.wave_logit));
    const double compute_s = std::max(terms.compute_s * std::exp(log_inverse_compute) * factor, terms.least_compute_s);

    const double fill = terms.activation_bytes / (terms.l2_bytes * l2_share_);
    const double beyond = fill * fill / (1 + fill * fill);  // share of the traffic that L2 does not hold
    const double traffic =
        terms.weight_bytes + terms.activation_bytes * (held_time_share_ + (1 - held_time_share_) * beyond);
    const double of_kind = of_memory_[static_cast<std::size_t>(terms.memory)];
    const double inverse_memory = std::exp(learnt.log_inverse_memory + on_device.memory + by_runtime.memory + of_kind) /
                                  std::pow(terms.cycles_per_byte, logistic(learnt.cycles_logit));
    const double memory_s = std::max(traffic / terms.bandwidth_bytes_per_s * inverse_memory, terms.least_memory_s);

    return join(compute_s, memory_s) + std::exp(learnt.log_gap + on_device.gap + by_runtime.gap) * terms.gap_scale;
  }

  Evidence evidence_;
  MlpEnsemble mlp_;
  std::array<Outputs, kNumCostKinds> kind_outputs_;
  double l2_share_ = 1;                                      // of L2 that holds a kernel's activations
  double held_time_share_ = 1;                               // time of a byte that L2 holds, over one that it does not
  std::array<double, kMemoryKindNames.size()> of_memory_{};  // by MemoryKind; the unknown one's stays none
  std::map<std::string, DeviceEffects> devices_;
  std::map<std::string, RuntimeEffects> runtimes_;       // by "runtime|version"; without one: those of its newest
  std::map<std::string, std::string> default_versions_;  // by "device|runtime"
  // Of the host's time for a launch, by "device|runtime": old cards stand in old machines.
  std::map<std::string, double> launch_factors_;
  // By kind of kernel, of the same: an operator of a library takes the host longer than an addition.
  std::array<double, kNumCostKinds> host_kind_factors_{};
  std::vector<std::string> host_kind_runtimes_;  // those that launch operator by operator
  // On CPUs, which the fit has not seen, over what GPUs let expect of the kernels and their launches.
  double cpu_kernels_factor_ = 1;
  double cpu_launches_factor_ = 1;
};

}  // namespace

std::unique_ptr<Predictor> make_kernel_residual(const std::string& checkpoint_path) {
  return std::make_unique<KernelResidual>(checkpoint_path);
}

}  // namespace latpred
