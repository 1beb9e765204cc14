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
  py::class_<SniffedFile>(module, "SniffedFile", "What kind of file a path leads to, told by the content.")
      .def_readonly("path", &SniffedFile::path)
      .def_readonly("kind", &SniffedFile::kind)
      .def_readonly("framework", &SniffedFile::framework)
      .def_readonly("what", &SniffedFile::what)
      .def_readonly("advice", &SniffedFile::advice)
      .def_readonly("message", &SniffedFile::message)
      .def_readonly("is_native", &SniffedFile::is_native);
  module.def(
      "sniff_path",
      [](const py::typing::Union<py::str, py::bytes>& path, const std::string& framework) {
        const auto name = py::cast<std::string>(path);
        const py::gil_scoped_release unlocked;
        return sniff_path(name, framework);
      },
      py::arg("path"), py::arg("framework") = "", "The kind of file at a path; raises where framework contradicts it.");
  module.def("frameworks", &frameworks, "Frameworks whose files can be read.");
}

}  // namespace latpred
