#include "latpred/operators.h"

#include "bindings.h"

namespace py = pybind11;

namespace latpred {

void bind_operators(py::module_& module) {
  py::class_<Operator>(module, "Operator", "A row of the operator table.")
      .def_property_readonly("id", [](const Operator& op) { return static_cast<int>(op.id); })
      .def_readonly("name", &Operator::name)
      .def_readonly("family", &Operator::family)
      .def_property_readonly("cost_kind", [](const Operator& op) { return cost_kind_name(op.kind); })
      .def_readonly("flops_per_element", &Operator::flops_per_element)
      .def("__repr__", [](const Operator& op) {
        return "<Operator " + std::string(op.name) + ", family " + std::string(op.family) + ">";
      });
  module.def("operators", &operators, py::return_value_policy::reference, "The operator table.");
}

}  // namespace latpred
