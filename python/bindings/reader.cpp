#include "latpred/reader.h"

#include "bindings.h"

namespace py = pybind11;

namespace latpred {

void bind_reader(py::module_& module) {
  const ReaderLimits limits;
  module.def(
      "read_program",
      [](const py::typing::Union<py::str, py::bytes>& path, const std::string& framework, std::int64_t max_nodes,
         std::int64_t max_depth) {
        const auto name = py::cast<std::string>(path);
        const py::gil_scoped_release unlocked;
        return std::make_shared<Program>(
            read_program(name, framework, {.max_nodes = max_nodes, .max_depth = max_depth}));
      },
      py::arg("path"), py::arg("framework") = "", py::arg("max_nodes") = limits.max_nodes,
      py::arg("max_depth") = limits.max_depth,
      "What a model file says. The weights are not read, nothing in the file is executed.");
  module.def("frameworks", &frameworks, "Frameworks whose files can be read.");
}

}  // namespace latpred
