#include "named_arrays_module.h"

#include <algorithm>
#include <string>
#include <vector>

namespace py = pybind11;

namespace latpred {

py::dict to_python(const NamedArrays& arrays) {
  py::dict result;
  for (const auto& [name, array] : arrays) {
    py::array_t<double> values(std::vector<py::ssize_t>(array.shape.begin(), array.shape.end()));
    std::copy(array.values.begin(), array.values.end(), values.mutable_data());
    result[name.c_str()] = values;
  }
  return result;
}

NamedArrays from_python(const py::dict& arrays) {
  NamedArrays result;
  for (const auto& [name, value] : arrays) {
    const auto array = value.cast<Numbers>();
    result[name.cast<std::string>()] = {std::vector<std::int64_t>(array.shape(), array.shape() + array.ndim()),
                                        std::vector<double>(array.data(), array.data() + array.size())};
  }
  return result;
}

}  // namespace latpred
