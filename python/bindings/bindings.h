#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace latpred {

// One function for each public header, in <stem>.cpp.
void bind_error(pybind11::module_& module);
void bind_graph(pybind11::module_& module);
void bind_program(pybind11::module_& module);
void bind_program_builder(pybind11::module_& module);
void bind_operators(pybind11::module_& module);
void bind_reader(pybind11::module_& module);
void bind_shapes(pybind11::module_& module);

}  // namespace latpred
