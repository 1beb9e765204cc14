#include "latpred/predictor.h"

#include <memory>
#include <string>

#include "bindings.h"
#include "latpred/features.h"
#include "latpred/runtime.h"

namespace py = pybind11;

namespace latpred {

void bind_predictor(py::module_& module) {
  py::class_<PredictorRow>(module, "Predictor", "A row of the predictor table.")
      .def_readonly("name", &PredictorRow::name)
      .def_readonly("description", &PredictorRow::description)
      .def_readonly("checkpoint", &PredictorRow::checkpoint, "Its file under data/predictors.")
      .def("__repr__", [](const PredictorRow& row) { return "<Predictor " + std::string(row.name) + ">"; });
  py::class_<LatencyOutput>(module, "LatencyOutput", "What a predictor answers: kernels and host wait add up.")
      .def_readonly("latency_s", &LatencyOutput::latency_s)
      .def_readonly("host_wait_s", &LatencyOutput::host_wait_s)
      .def_readonly("kernel_s", &LatencyOutput::kernel_s, "[K] seconds, repeats included.")
      .def_readonly("host_s", &LatencyOutput::host_s, "The host's time for all launches.");
  py::class_<Predictor>(module, "LoadedPredictor", "A predictor with its checkpoint.")
      .def(
          "latency",
          [](const Predictor& predictor, const Graph& graph, const Kernels& kernels, const std::string& device_name,
             const std::string& partition_name, const std::string& version) {
            const Device& on = device(device_name);
            const Partition part = partition(on, partition_name);
            const Features features = featurize(kernels, on, part, false);
            return predictor.latency({graph, kernels, features, on, part, runtime(kernels.runtime), version});
          },
          py::arg("graph"), py::arg("kernels"), py::arg("device"), py::arg("partition") = "", py::arg("version") = "",
          py::call_guard<py::gil_scoped_release>(),
          "Latency of one call, without the input copy. version: of the runtime, whole; empty: its newest.");
  module.def(
      "load_predictor",
      [](const std::string& name, const std::string& checkpoint_path) {
        return predictor_row(name).make(checkpoint_path);
      },
      py::arg("name"), py::arg("checkpoint_path"), "The named predictor with the numbers of a checkpoint file.");
  module.def("predictors", &predictors, py::return_value_policy::reference, "The predictor table.");
}

}  // namespace latpred
