#include "latpred/predictor.h"

#include "bindings.h"

namespace py = pybind11;

namespace latpred {

void bind_predictor(py::module_& module) {
  py::class_<PredictorRow>(module, "Predictor", "A row of the predictor table.")
      .def_readonly("name", &PredictorRow::name)
      .def_readonly("description", &PredictorRow::description)
      .def("__repr__", [](const PredictorRow& row) { return "<Predictor " + std::string(row.name) + ">"; });
  module.def("predictors", &predictors, py::return_value_policy::reference, "The predictor table.");
}

}  // namespace latpred
