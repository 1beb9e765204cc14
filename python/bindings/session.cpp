#include "latpred/session.h"

#include <algorithm>
#include <utility>

#include "bindings.h"

namespace py = pybind11;

namespace latpred {
namespace {

std::pair<double, double> pair_of(const Interval& interval) { return {interval.lower, interval.upper}; }

void bind_answer(py::module_& module) {
  py::class_<Prediction>(module, "Answer", "A prediction in seconds, bytes and joules.")
      .def_readonly("device", &Prediction::device)
      .def_readonly("partition", &Prediction::partition)
      .def_readonly("runtime", &Prediction::runtime)
      .def_readonly("runtime_version", &Prediction::runtime_version)
      .def_readonly("precision", &Prediction::precision)
      .def_readonly("predictor", &Prediction::predictor)
      .def_readonly("batch", &Prediction::batch)
      .def_readonly("input_on", &Prediction::input_on)
      .def_readonly("autograd", &Prediction::autograd)
      .def_readonly("mig_rule", &Prediction::mig_rule)
      .def_readonly("calibration", &Prediction::calibration)
      .def_readonly("latency_s", &Prediction::latency_s)
      .def_readonly("host_s", &Prediction::host_s)
      .def_readonly("host_wait_s", &Prediction::host_wait_s)
      .def_readonly("input_copy_s", &Prediction::input_copy_s)
      .def_property_readonly("latency_interval_s",
                             [](const Prediction& answer) { return pair_of(answer.latency_interval_s); })
      .def_readonly("memory", &Prediction::memory)
      .def_property_readonly("memory_interval_bytes",
                             [](const Prediction& answer) { return pair_of(answer.memory_interval_bytes); })
      .def_property_readonly("energy_j",
                             [](const Prediction& answer) {
                               return answer.energy ? std::optional(answer.energy->energy_j) : std::nullopt;
                             })
      .def_property_readonly("mean_power_w",
                             [](const Prediction& answer) {
                               return answer.energy ? std::optional(answer.energy->mean_power_w) : std::nullopt;
                             })
      .def_property_readonly("energy_interval_j",
                             [](const Prediction& answer) {
                               return answer.energy_interval_j ? std::optional(pair_of(*answer.energy_interval_j))
                                                               : std::nullopt;
                             })
      .def_readonly("mig_profile", &Prediction::mig_profile)
      .def_readonly("latency_provenance", &Prediction::latency_provenance)
      .def_readonly("memory_provenance", &Prediction::memory_provenance)
      .def_readonly("energy_provenance", &Prediction::energy_provenance)
      .def_property_readonly("coverage", [](const Prediction& answer) { return python_texts(answer.coverage); })
      .def_property_readonly("unknown_operators",
                             [](const Prediction& answer) { return python_texts(answer.unknown_operators); });
}

void bind_rows(py::module_& module) {
  py::class_<KernelRow>(module, "KernelRow", "A row of the kernels table; latencies add up to the prediction's.")
      .def_property_readonly("name", [](const KernelRow& row) { return python_text(row.name); })
      .def_readonly("kind", &KernelRow::kind)
      .def_readonly("arithmetic", &KernelRow::arithmetic)
      .def_property_readonly("members", [](const KernelRow& row) { return python_texts(row.members); })
      .def_readonly("repeat", &KernelRow::repeat)
      .def_readonly("latency_s", &KernelRow::latency_s)
      .def_readonly("roofline_s", &KernelRow::roofline_s)
      .def_readonly("macs", &KernelRow::macs)
      .def_readonly("flops", &KernelRow::flops)
      .def_readonly("bytes", &KernelRow::bytes)
      .def_readonly("m", &KernelRow::m)
      .def_readonly("n", &KernelRow::n)
      .def_readonly("k", &KernelRow::k)
      .def_readonly("tiles", &KernelRow::tiles)
      .def_readonly("waves", &KernelRow::waves)
      .def_readonly("compute_bound", &KernelRow::compute_bound);
  py::class_<PartitionRow>(module, "PartitionRow", "One MIG profile of the device.")
      .def_readonly("name", &PartitionRow::name)
      .def_readonly("sms", &PartitionRow::sms)
      .def_readonly("memory_bytes", &PartitionRow::memory_bytes)
      .def_readonly("max_instances", &PartitionRow::max_instances)
      .def_readonly("latency_s", &PartitionRow::latency_s)
      .def_property_readonly("latency_interval_s",
                             [](const PartitionRow& row) { return pair_of(row.latency_interval_s); })
      .def_readonly("memory_share", &PartitionRow::memory_share)
      .def_readonly("fits", &PartitionRow::fits);
}

}  // namespace

void bind_session(py::module_& module) {
  bind_answer(module);
  bind_rows(module);
  using Graphs = std::vector<std::shared_ptr<const Graph>>;
  const auto unlocked = py::call_guard<py::gil_scoped_release>();
  py::class_<Session>(module, "Session", "Runs the whole line from Graph to Prediction.")
      .def(py::init<std::string>(), py::arg("data_directory"))
      .def("predict", &Session::predict, py::arg("graph"), py::arg("request"), unlocked)
      .def(
          "predict_many",
          [](const Session& session, const std::vector<std::shared_ptr<Graph>>& graphs,
             const std::vector<PredictRequest>& requests, int num_threads) {
            if (std::ranges::count(graphs, nullptr) > 0) throw py::type_error("predict_many: a graph is None");
            return session.predict_many(Graphs(graphs.begin(), graphs.end()), requests, num_threads);
          },
          py::arg("graphs"), py::arg("requests"), py::arg("num_threads") = 0, unlocked)
      .def("kernels", &Session::kernels, py::arg("graph"), py::arg("request"), unlocked)
      .def("partitions", &Session::partitions, py::arg("graph"), py::arg("request"), unlocked)
      .def("evidence", &Session::evidence, py::arg("predictor"), py::return_value_policy::reference_internal);
}

}  // namespace latpred
