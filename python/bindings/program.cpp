#include "latpred/program.h"

#include "bindings.h"

namespace py = pybind11;

namespace latpred {

void bind_program(py::module_& module) {
  py::class_<SourceInfo>(module, "Source", "Where a network came from.")
      .def_readonly("path", &SourceInfo::path)
      .def_readonly("framework", &SourceInfo::framework)
      .def_readonly("format", &SourceInfo::format)
      .def_readonly("producer", &SourceInfo::producer)
      .def_readonly("num_nodes", &SourceInfo::num_nodes, "Nodes as stored, before anything is folded.")
      .def_readonly("operator_counts", &SourceInfo::operator_counts, "Stored operator name -> how often it occurs.")
      .def("__repr__", [](const SourceInfo& source) {
        return "<Source " + source.format + (source.producer.empty() ? "" : ", made by " + source.producer) + ">";
      });

  py::class_<Program, std::shared_ptr<Program>>(module, "Program",
                                               "What a model file says, before the batch and the sizes are known.")
      .def_readonly("source", &Program::source)
      .def_readonly("warnings", &Program::warnings);
}

}  // namespace latpred
