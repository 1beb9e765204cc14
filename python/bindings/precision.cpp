#include "latpred/precision.h"

#include "bindings.h"

namespace py = pybind11;

namespace latpred {

void bind_precision(py::module_& module) {
  py::class_<Precision>(module, "Precision", "A row of the precision table.")
      .def_readonly("name", &Precision::name)
      .def_readonly("description", &Precision::description)
      .def("__repr__", [](const Precision& row) { return "<Precision " + std::string(row.name) + ">"; });
  module.def("precisions", &precisions, py::return_value_policy::reference, "The precision table.");
}

}  // namespace latpred
