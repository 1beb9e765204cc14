#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace latpred {

// Numbers by name, as they cross to Python and lie in a checkpoint. float64 holds every float exactly.
struct NamedArray {
  std::vector<std::int64_t> shape;
  std::vector<double> values;
};
using NamedArrays = std::map<std::string, NamedArray>;

// Names that stored trainings share; those that end in a point stand before the names of weights or of a config.
inline const std::string kFirstMoment = "first_moment.";
inline const std::string kSecondMoment = "second_moment.";
inline const std::string kConfig = "config.";
inline const std::string kTargetMean = "target_mean";
inline const std::string kTargetDeviation = "target_deviation";

// An array of this shape by its name; what is stored and does not fit is refused.
[[nodiscard]] const NamedArray& array_of(const NamedArrays& arrays, const std::string& name,
                                         const std::vector<std::int64_t>& shape);
[[nodiscard]] double number_of(const NamedArrays& arrays, const std::string& name);

// Of 64 bits, each half a number that a double holds.
[[nodiscard]] NamedArray halves_of(std::uint64_t value);
[[nodiscard]] std::uint64_t whole_of(const NamedArrays& arrays, const std::string& name);

}  // namespace latpred
