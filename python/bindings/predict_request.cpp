#include "latpred/predict_request.h"

#include <utility>

#include "bindings.h"

namespace py = pybind11;

namespace latpred {

void bind_predict_request(py::module_& module) {
  py::class_<GivenLatency, std::shared_ptr<GivenLatency>>(
      module, "GivenLatency", "The latency of a whole call by a trained predictor, its interval and its evidence.")
      .def(py::init([](double latency_s, std::pair<double, double> interval_s, std::string provenance,
                       std::vector<std::string> coverage) {
             return GivenLatency{
                 latency_s, {interval_s.first, interval_s.second}, std::move(provenance), std::move(coverage)};
           }),
           py::kw_only(), py::arg("latency_s"), py::arg("interval_s"), py::arg("provenance"), py::arg("coverage"));
  const PredictRequest defaults;
  py::class_<PredictRequest>(module, "PredictRequest", "What is asked besides the graph.")
      .def(py::init([](std::string device, std::string partition, std::string runtime, std::string runtime_version,
                       std::string precision, std::string input_on, bool autograd, std::string predictor,
                       std::string mig_rule, bool strict, std::optional<std::shared_ptr<Calibration>> calibration,
                       std::optional<std::shared_ptr<Device>> host, std::vector<HostRead> host_reads,
                       std::optional<std::shared_ptr<GivenLatency>> given) {
             return PredictRequest{std::move(device),
                                   std::move(partition),
                                   std::move(runtime),
                                   std::move(runtime_version),
                                   std::move(precision),
                                   std::move(input_on),
                                   autograd,
                                   std::move(predictor),
                                   std::move(mig_rule),
                                   strict,
                                   calibration.value_or(nullptr),
                                   host.value_or(nullptr),
                                   std::move(host_reads),
                                   given.value_or(nullptr)};
           }),
           py::kw_only(), py::arg("device") = defaults.device, py::arg("partition") = defaults.partition,
           py::arg("runtime") = defaults.runtime, py::arg("runtime_version") = defaults.runtime_version,
           py::arg("precision") = defaults.precision, py::arg("input_on") = defaults.input_on,
           py::arg("autograd") = defaults.autograd, py::arg("predictor") = defaults.predictor,
           py::arg("mig_rule") = defaults.mig_rule, py::arg("strict") = defaults.strict,
           py::arg("calibration") = std::nullopt, py::arg("host") = std::nullopt,
           py::arg("host_reads") = std::vector<HostRead>(), py::arg("given") = std::nullopt)
      .def_readonly("device", &PredictRequest::device)
      .def_readonly("partition", &PredictRequest::partition)
      .def_readonly("runtime", &PredictRequest::runtime)
      .def_readonly("runtime_version", &PredictRequest::runtime_version)
      .def_readonly("precision", &PredictRequest::precision)
      .def_readonly("input_on", &PredictRequest::input_on)
      .def_readonly("autograd", &PredictRequest::autograd)
      .def_readonly("predictor", &PredictRequest::predictor)
      .def_readonly("mig_rule", &PredictRequest::mig_rule)
      .def_readonly("strict", &PredictRequest::strict)
      .def_property_readonly("device_name", [](const PredictRequest& request) { return asked_device(request).name; });
}

}  // namespace latpred
