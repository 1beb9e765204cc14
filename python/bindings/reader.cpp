#include "latpred/reader.h"

#include "bindings.h"

namespace py = pybind11;

namespace latpred {

void bind_reader(py::module_& module) {
  const ReaderLimits limits;
  module.def(
      "read_program",
      [](const std::string& path, const std::string& framework, std::int64_t max_nodes, std::int64_t max_depth) {
        return std::make_shared<Program>(
            read_program(path, framework, {.max_nodes = max_nodes, .max_depth = max_depth}));
      },
      py::arg("path"), py::arg("framework") = "", py::arg("max_nodes") = limits.max_nodes,
      py::arg("max_depth") = limits.max_depth, py::call_guard<py::gil_scoped_release>(),
      "What a model file says. The weights are not read, nothing in the file is executed.");
  module.def("frameworks", &frameworks, "Frameworks whose files can be read.");
}

}  // namespace latpred
