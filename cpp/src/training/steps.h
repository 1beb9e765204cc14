#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "predictors/packed_kernels.h"
#include "training/named_arrays.h"

// What trainings by hand do alike. Random numbers come from seed and epoch alone, so that a stored training goes on as
// one that was never stopped.
namespace latpred {

// The order in which an epoch goes through `count` graphs.
[[nodiscard]] std::vector<std::int64_t> order_of_epoch(std::int64_t count, std::uint64_t seed,
                                                       std::int64_t epochs_done);

// How far a training is.
struct Progress {
  std::int64_t epochs_done = 0;
  std::optional<std::uint64_t> fingerprint;  // of the table that it is trained on
};

// Puts to a stored training what it began with, each number under `prefix` and its name, and how far it is.
void store_numbers(std::string_view prefix, const std::map<std::string, double>& numbers, NamedArrays& stored);
void store_progress(std::uint64_t seed, const Progress& progress, NamedArrays& stored);
[[nodiscard]] Progress progress_of(const NamedArrays& stored);

// Refuses a stored training whose numbers, stored under `prefix` and their name, are not these; but `may_differ`.
void check_same_training(const NamedArrays& stored, std::string_view prefix,
                         const std::map<std::string, double>& numbers, std::string_view may_differ = "");
void check_same_seed(const NamedArrays& stored, std::uint64_t seed);

// Adam at `rate` after so many steps.
[[nodiscard]] AdamStep adam_step(double rate, std::int64_t steps_done);

}  // namespace latpred
