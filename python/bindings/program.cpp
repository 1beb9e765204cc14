#include "latpred/program.h"

#include <algorithm>
#include <string>
#include <utility>

#include "bindings.h"

namespace py = pybind11;

namespace latpred {

void bind_program(py::module_& module) {
  py::class_<SourceInfo>(module, "Source", "Where a network came from.")
      .def_property_readonly("path", [](const SourceInfo& source) { return python_text(source.path); })
      .def_property_readonly("framework", [](const SourceInfo& source) { return python_text(source.framework); })
      .def_property_readonly("format", [](const SourceInfo& source) { return python_text(source.format); })
      .def_property_readonly("producer", [](const SourceInfo& source) { return python_text(source.producer); })
      .def_readonly("num_nodes", &SourceInfo::num_nodes, "Nodes as stored, before anything is folded.")
      .def_property_readonly(
          "operator_counts",
          [](const SourceInfo& source) {
            py::typing::Dict<py::str, py::int_> counts;
            for (const auto& [name, count] : source.operator_counts) counts[python_text(name)] = count;
            return counts;
          },
          "Stored operator name -> how often it occurs.")
      .def("__repr__", [](const SourceInfo& source) {
        return python_text("<Source " + source.format +
                           (source.producer.empty() ? "" : ", made by " + source.producer) + ">");
      });

  py::class_<Program, std::shared_ptr<Program>>(module, "Program",
                                                "What a model file says, before the batch and the sizes are known.")
      .def_readonly("source", &Program::source)
      .def_readonly("warnings", &Program::warnings)
      .def(
          "warn", [](Program& program, std::string text) { program.warnings.push_back(std::move(text)); },
          py::arg("text"), "Adds what its graphs will say among their warnings.")
      .def_property_readonly(
          "num_stored",
          [](const Program& program) {
            return std::count_if(program.variables.begin(), program.variables.end(),
                                 [](const Variable& variable) { return variable.is_stored; });
          },
          "Weights and constants in the file, those in branches and loops included.")
      .def_property_readonly(
          "inputs",
          [](const Program& program) {
            std::vector<std::string> names;
            for (const VariableId id : program.main.inputs) {
              names.push_back(program.variables[static_cast<std::size_t>(id)].name);
            }
            return names;
          },
          "Names of the inputs that the caller gives: weights that are listed as inputs are none.");
}

}  // namespace latpred
