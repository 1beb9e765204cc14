#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace latpred {

// One function for each public header, in <stem>.cpp.
void bind_checkpoint(pybind11::module_& module);
void bind_device(pybind11::module_& module);
void bind_error(pybind11::module_& module);
void bind_features(pybind11::module_& module);
void bind_graph(pybind11::module_& module);
void bind_kernel(pybind11::module_& module);
void bind_memory(pybind11::module_& module);
void bind_operators(pybind11::module_& module);
void bind_partition(pybind11::module_& module);
void bind_precision(pybind11::module_& module);
void bind_predictor(pybind11::module_& module);
void bind_program(pybind11::module_& module);
void bind_program_builder(pybind11::module_& module);
void bind_reader(pybind11::module_& module);
void bind_runtime(pybind11::module_& module);
void bind_session(pybind11::module_& module);
void bind_shapes(pybind11::module_& module);
void bind_text(pybind11::module_& module);
void bind_version(pybind11::module_& module);

}  // namespace latpred
