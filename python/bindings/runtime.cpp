#include "latpred/runtime.h"

#include "bindings.h"

namespace py = pybind11;

namespace latpred {

void bind_runtime(py::module_& module) {
  py::class_<Runtime>(module, "Runtime", "A row of the runtime table.")
      .def_readonly("name", &Runtime::name)
      .def_readonly("description", &Runtime::description)
      .def_readonly("fuses", &Runtime::fuses)
      .def_readonly("on_gpu", &Runtime::on_gpu)
      .def_readonly("on_cpu", &Runtime::on_cpu)
      .def_readonly("strided_views", &Runtime::strided_views,
                    "PyTorch's: images may lie with their channels innermost.")
      .def_readonly("host_s_per_launch", &Runtime::host_s_per_launch)
      .def_readonly("host_source", &Runtime::host_source)
      .def_readonly("precisions", &Runtime::precisions, "Accepted besides 'default'.")
      .def("__repr__", [](const Runtime& row) { return "<Runtime " + std::string(row.name) + ">"; });
  module.def("runtimes", &runtimes, py::return_value_policy::reference, "The runtime table.");
  module.def("runtime", &runtime, py::arg("name"), py::return_value_policy::reference);
}

}  // namespace latpred
