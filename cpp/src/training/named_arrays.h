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

}  // namespace latpred
