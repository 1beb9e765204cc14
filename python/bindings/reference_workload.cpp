#include "latpred/reference_workload.h"

#include "bindings.h"

namespace py = pybind11;

namespace latpred {

void bind_reference_workload(py::module_& module) {
  py::class_<ReferenceRun>(module, "ReferenceRun", "A reference workload of some duration; calling it runs it once.")
      .def_property_readonly("name", [](const ReferenceRun& run) { return python_text(run.name()); })
      .def_property_readonly("times_s", &ReferenceRun::times_s, "Of each run so far, by a clock of its own.")
      .def("__call__", &ReferenceRun::operator(), py::call_guard<py::gil_scoped_release>());
  py::class_<ReferenceWorkload>(module, "ReferenceWorkload", "A workload whose duration is known beforehand.")
      .def_property_readonly("name", [](const ReferenceWorkload& row) { return python_text(row.name); })
      .def_property_readonly("description", [](const ReferenceWorkload& row) { return python_text(row.description); });
  module.def("reference_workloads", &reference_workloads, py::return_value_policy::reference,
             "The table of workloads to check the instrument with.");
  module.def(
      "reference_run", [](const std::string& name, double seconds) { return ReferenceRun(name, seconds); },
      py::arg("name"), py::arg("seconds"), "A workload of the table that takes about so long.");
}

}  // namespace latpred
