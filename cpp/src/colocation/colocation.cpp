#include "latpred/colocation.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "latpred/error.h"
#include "latpred/features.h"
#include "latpred/text.h"

namespace latpred {
namespace {

template <typename Take>
double sum_of(const std::vector<ResourceProfile>& profiles, Take take) {
  double sum = 0;
  for (const ResourceProfile& profile : profiles) sum += take(profile);
  return sum;
}

// How much longer the target takes where all take turns: each gets an equal part of the device's time, and what one
// does not use goes to the others.
template <typename Take>
double fair_parts(const Situation& at, Take take) {
  std::vector<double> wanted;
  for (const ResourceProfile& neighbour : at.neighbours) wanted.push_back(take(neighbour));
  std::sort(wanted.begin(), wanted.end());
  double left = 1;
  double claimants = static_cast<double>(wanted.size()) + 1;
  for (const double share : wanted) {
    if (share > left / claimants || take(at.target) <= share) break;
    left -= share;
    claimants -= 1;
  }
  // The target gets an equal part of what those who want less have left.
  const double granted = std::max(left / claimants, 0.0);
  return std::max(take(at.target) / granted, 1.0) - 1;
}

double turns(const Situation& at) {
  return fair_parts(at, [](const ResourceProfile& x) { return x.busy_share; });
}

double sm_parts(const Situation& at) {
  return fair_parts(at, [](const ResourceProfile& x) { return x.sm_share; });
}

// As if whole calls took turns: each neighbour's busy seconds of a call over the mean of its and the target's. 1 for a
// neighbour whose calls keep the device as long, at most 2.
double call_turns(const Situation& at) {
  const auto busy_s = [](const ResourceProfile& x) { return x.busy_share * x.latency_s; };
  const double own_s = busy_s(at.target);
  return sum_of(at.neighbours, [&](const ResourceProfile& x) {
    const double both_s = own_s + busy_s(x);
    return both_s > 0 ? 2 * busy_s(x) / both_s : 0;
  });
}

double any_neighbour(const Situation& at) { return at.neighbours.empty() ? 0 : 1; }

double memory_conflict(const Situation& at) {
  return at.target.memory_share * sum_of(at.neighbours, [](const ResourceProfile& x) { return x.memory_share; });
}

double memory_pressure(const Situation& at) {
  return sum_of(at.neighbours, [](const ResourceProfile& x) { return x.memory_share; });
}

constexpr InterferenceTerm kTurns{"turns", "equal parts of the device's time", &turns};
constexpr InterferenceTerm kCallTurns{"call_turns", "the neighbours' part of the device where calls take turns",
                                      &call_turns};
constexpr InterferenceTerm kSmParts{"sm_parts", "equal parts of the multiprocessors' time", &sm_parts};
constexpr InterferenceTerm kAnyNeighbour{"any_neighbour", "1 where anything runs beside it", &any_neighbour};
constexpr InterferenceTerm kMemory{"memory_conflict", "its share of traffic x the neighbours'", &memory_conflict};
constexpr InterferenceTerm kPressure{"memory_pressure", "the neighbours' share of traffic", &memory_pressure};

// Steps of coordinate descent and of re-weighting: the problems have less than ten unknowns, and converge long before.
constexpr int kSweeps = 400;
constexpr int kReweightings = 30;
// Errors below this weigh the same: a thousandth of a latency is far below what can be measured.
constexpr double kSmallestError = 1e-3;
constexpr double kTiny = 1e-12;

// Weighted least squares with coefficients >= 0, by coordinate descent on the normal equations.
std::vector<double> non_negative(const std::vector<std::vector<double>>& rows, const std::vector<double>& targets,
                                 const std::vector<double>& weights, std::vector<double> x) {
  const std::size_t count = x.size();
  std::vector<double> gram(count * count, 0.0);
  std::vector<double> right(count, 0.0);
  for (std::size_t n = 0; n < rows.size(); ++n) {
    for (std::size_t i = 0; i < count; ++i) {
      right[i] += weights[n] * rows[n][i] * targets[n];
      for (std::size_t j = 0; j < count; ++j) gram[i * count + j] += weights[n] * rows[n][i] * rows[n][j];
    }
  }
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (std::size_t i = 0; i < count; ++i) {
      if (gram[i * count + i] <= kTiny) {
        x[i] = 0;  // nothing in the data shows it
        continue;
      }
      double rest = right[i];
      for (std::size_t j = 0; j < count; ++j) rest -= j == i ? 0 : gram[i * count + j] * x[j];
      x[i] = std::max(0.0, rest / gram[i * count + i]);
    }
  }
  return x;
}

}  // namespace

ResourceProfile resource_profile(const Kernels& kernels, const Device& device, const Partition& partition,
                                 double latency_s, double busy_s) {
  if (!(latency_s > 0) || !(busy_s >= 0) || busy_s > latency_s) {
    throw InvalidArgumentError(
        concat("a profile needs a latency above 0 s and a busy part of it, got ", latency_s, " s and ", busy_s, " s"));
  }
  ResourceProfile profile;
  profile.latency_s = latency_s;
  profile.busy_share = busy_s / latency_s;
  double roofline_s = 0;
  double filled_s = 0;
  for (const Kernel& kernel : kernels.rows) {
    const KernelPhysics physics = kernel_physics({kernel, device, partition});
    const auto times = static_cast<double>(kernel.repeat);
    profile.memory_share += physics.memory_s * times / latency_s;
    roofline_s += physics.roofline_s * times;
    filled_s += physics.roofline_s * times * physics.wave_efficiency;
  }
  profile.sm_share = roofline_s > 0 ? partition.sm_share * profile.busy_share * filled_s / roofline_s : 0;
  return profile;
}

std::vector<double> core_times(const Kernels& kernels, const Device& core) {
  const Partition whole = partition(core, "");
  double dense_s = 0;
  double grouped_s = 0;
  double memory_s = 0;
  double launches = 0;
  for (const Kernel& kernel : kernels.rows) {
    const KernelPhysics physics = kernel_physics({kernel, core, whole});
    const auto times = static_cast<double>(kernel.repeat);
    (kernel.groups > 1 ? grouped_s : dense_s) += physics.compute_s * times;
    memory_s += physics.memory_s * times;
    launches += times;
  }
  return {dense_s, grouped_s, memory_s, launches};
}

const std::vector<SharingMode>& sharing_modes() {
  static const std::vector<SharingMode> rows{
      {.name = "cores",
       .description = "processes on cores of their own: caches and memory are shared",
       .on_cpus = true,
       .terms = {kMemory, kPressure}},
      {.name = "time_slicing",
       .description = "processes take turns on the whole device: the default of GPUs, and of one core",
       .on_gpus = true,
       .on_cpus = true,
       .terms = {kTurns, kCallTurns}},
      {.name = "mps",
       .description = "kernels of several processes run at the same time (CUDA MPS)",
       .on_gpus = true,
       .terms = {kSmParts, kCallTurns}},
      {.name = "mig",
       .description = "each process has a MIG slice of its own, with its own memory",
       .on_gpus = true,
       .terms = {kAnyNeighbour}},
  };
  return rows;
}

const SharingMode& sharing_mode(std::string_view name) {
  std::vector<std::string> valid;
  for (const SharingMode& row : sharing_modes()) {
    if (row.name == name) return row;
    valid.emplace_back(row.name);
  }
  throw InvalidArgumentError(unknown_name_message("way of sharing", name, valid), {.valid = valid});
}

std::vector<double> interference(const SharingMode& mode, const std::vector<ResourceProfile>& members,
                                 std::size_t target) {
  if (target >= members.size()) {
    throw InvalidArgumentError(concat("member ", target, " of ", members.size(), " is asked for"));
  }
  std::vector<ResourceProfile> neighbours = members;
  neighbours.erase(neighbours.begin() + static_cast<std::ptrdiff_t>(target));
  std::vector<double> values;
  for (const InterferenceTerm& term : mode.terms) {
    values.push_back(term.value({members[target], neighbours}));
  }
  return values;
}

double slow_down(const std::vector<double>& coefficients, const std::vector<double>& terms) {
  if (coefficients.size() != terms.size()) {
    throw InvalidArgumentError(
        concat(coefficients.size(), " coefficients for ", terms.size(), " terms: they are of another way of sharing"));
  }
  double factor = 1;
  for (std::size_t i = 0; i < terms.size(); ++i) factor += coefficients[i] * terms[i];
  return factor;
}

std::vector<double> fit_interference(const std::vector<std::vector<double>>& terms,
                                     const std::vector<double>& slow_downs) {
  if (terms.empty() || terms.size() != slow_downs.size()) {
    throw InvalidArgumentError(
        concat("a fit needs a row of terms for each slow-down, got ", terms.size(), " and ", slow_downs.size()));
  }
  const std::size_t count = terms.front().size();
  for (const std::vector<double>& row : terms) {
    if (row.size() != count) throw InvalidArgumentError(concat("rows of ", count, " and ", row.size(), " terms"));
  }
  std::vector<double> targets;
  for (const double factor : slow_downs) {
    if (!std::isfinite(factor)) throw InvalidArgumentError("a slow-down is not finite");
    targets.push_back(factor - 1);
  }
  std::vector<double> weights(terms.size(), 1.0);
  std::vector<double> x(count, 0.0);
  // Least absolute errors as re-weighted least squares: a label that was disturbed must not move the rest.
  for (int round = 0; round < kReweightings; ++round) {
    x = non_negative(terms, targets, weights, std::move(x));
    for (std::size_t n = 0; n < terms.size(); ++n) {
      weights[n] = 1 / std::max(kSmallestError, std::abs(slow_down(x, terms[n]) - slow_downs[n]));
    }
  }
  return x;
}

}  // namespace latpred
