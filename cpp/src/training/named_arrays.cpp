#include "training/named_arrays.h"

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred {

const NamedArray& array_of(const NamedArrays& arrays, const std::string& name, const std::vector<std::int64_t>& shape) {
  const auto found = arrays.find(name);
  if (found == arrays.end()) throw InvalidArgumentError(concat("the stored network has no array '", name, "'"));
  if (found->second.shape != shape) {
    throw InvalidArgumentError(concat("array '", name, "' of the stored network has shape ",
                                      shape_text(found->second.shape), ", this config needs ", shape_text(shape)));
  }
  return found->second;
}

double number_of(const NamedArrays& arrays, const std::string& name) {
  return array_of(arrays, name, {}).values.front();
}

NamedArray halves_of(std::uint64_t value) {
  return {{2}, {static_cast<double>(value >> 32), static_cast<double>(value & 0xFFFFFFFF)}};
}

std::uint64_t whole_of(const NamedArrays& arrays, const std::string& name) {
  const std::vector<double>& halves = array_of(arrays, name, {2}).values;
  return static_cast<std::uint64_t>(halves[0]) << 32 | static_cast<std::uint64_t>(halves[1]);
}

}  // namespace latpred
