#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>

#include "training/named_arrays.h"

namespace latpred {

// Arguments that are arrays: what is no array of this type, row after row, is copied into one.
using Numbers = pybind11::array_t<double, pybind11::array::c_style | pybind11::array::forcecast>;
using Integers = pybind11::array_t<std::int64_t, pybind11::array::c_style | pybind11::array::forcecast>;

// A dict of float64 arrays by name, and back.
[[nodiscard]] pybind11::dict to_python(const NamedArrays& arrays);
[[nodiscard]] NamedArrays from_python(const pybind11::dict& arrays);

}  // namespace latpred
