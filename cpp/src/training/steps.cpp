#include "training/steps.h"

#include <cmath>
#include <numeric>
#include <random>
#include <utility>

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred {
namespace {

// Kingma and Ba's numbers, torch's defaults.
constexpr double kFirstDecay = 0.9;
constexpr double kSecondDecay = 0.999;
constexpr double kAdamEpsilon = 1e-8;

}  // namespace

std::vector<std::int64_t> order_of_epoch(std::int64_t count, std::uint64_t seed, std::int64_t epochs_done) {
  std::seed_seq seeds{static_cast<std::uint32_t>(seed >> 32), static_cast<std::uint32_t>(seed),
                      static_cast<std::uint32_t>(epochs_done)};
  std::mt19937_64 random(seeds);
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

void store_numbers(std::string_view prefix, const std::map<std::string, double>& numbers, NamedArrays& stored) {
  for (const auto& [name, value] : numbers) stored[concat(prefix, name)] = {{}, {value}};
}

void store_progress(std::uint64_t seed, const Progress& progress, NamedArrays& stored) {
  stored["seed"] = halves_of(seed);
  stored["epochs_done"] = {{}, {static_cast<double>(progress.epochs_done)}};
  stored["fingerprint"] = halves_of(progress.fingerprint.value_or(0));
}

Progress progress_of(const NamedArrays& stored) {
  const auto epochs_done = static_cast<std::int64_t>(number_of(stored, "epochs_done"));
  const std::uint64_t table = whole_of(stored, "fingerprint");
  return {epochs_done, epochs_done > 0 ? std::optional(table) : std::nullopt};
}

void check_same_training(const NamedArrays& stored, std::string_view prefix,
                         const std::map<std::string, double>& numbers, std::string_view may_differ) {
  for (const auto& [name, value] : numbers) {
    const double before = number_of(stored, concat(prefix, name));
    if (before == value || name == may_differ) continue;
    throw InvalidArgumentError(concat("the stored training has ", name, " ", before, ", this one ", value,
                                      " (choices count from 0): go on with what it began with"));
  }
}

void check_same_seed(const NamedArrays& stored, std::uint64_t seed) {
  const std::uint64_t before = whole_of(stored, "seed");
  if (before != seed) {
    throw InvalidArgumentError(concat("the stored training has seed ", before, ", this trainer ", seed));
  }
}

AdamStep adam_step(double rate, std::int64_t steps_done) {
  const auto count = static_cast<double>(steps_done + 1);
  return {static_cast<float>(rate / (1 - std::pow(kFirstDecay, count))),
          static_cast<float>(1 / std::sqrt(1 - std::pow(kSecondDecay, count))), static_cast<float>(kFirstDecay),
          static_cast<float>(kSecondDecay), static_cast<float>(kAdamEpsilon)};
}

}  // namespace latpred
