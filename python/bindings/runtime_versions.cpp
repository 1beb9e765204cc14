#include "latpred/runtime_versions.h"

#include "bindings.h"

namespace py = pybind11;

namespace latpred {

void bind_runtime_versions(py::module_& module) {
  module.def("version_age", &version_age, py::arg("version"),
             "Its numbers, the oldest first when sorted; those of a container begin with 0.");
  module.def("version_stack", &version_stack, py::arg("version"), "What stands before its numbers.");
  module.def("version_standing_for", &version_standing_for, py::arg("asked"), py::arg("measured"),
             "Which of `measured`, the oldest first, answers for another one; '': none does.");
}

}  // namespace latpred
