#include "latpred/measure.h"

#include <functional>
#include <utility>

#include "bindings.h"
#include "latpred/reference_workload.h"

namespace py = pybind11;

namespace latpred {
namespace {

void bind_protocol(py::module_& module) {
  py::class_<Protocol>(module, "Protocol", "How to measure; a copy of a row may be changed, and then named anew.")
      .def(py::init<>())
      .def(py::init<const Protocol&>(), py::arg("other"))
      .def_readwrite("name", &Protocol::name)
      .def_readwrite("warm_up", &Protocol::warm_up, "Runs before the samples.")
      .def_readwrite("warm_up_s", &Protocol::warm_up_s, "Warm up at least this long.")
      .def_readwrite("min_s", &Protocol::min_s, "Sample at least this long.")
      .def_readwrite("min_samples", &Protocol::min_samples)
      .def_readwrite("max_samples", &Protocol::max_samples)
      .def_readwrite("timeout_s", &Protocol::timeout_s, "Of all runs together.")
      .def_readwrite("criterion", &Protocol::criterion)
      .def_readwrite("threshold", &Protocol::threshold, "Of the criterion; None: its own.")
      .def_readwrite("max_coefficient_of_variation", &Protocol::max_coefficient_of_variation,
                     "Above it, all is measured again.")
      .def_readwrite("max_repetitions", &Protocol::max_repetitions)
      .def_readwrite("runs_per_sample", &Protocol::runs_per_sample)
      .def_readwrite("label", &Protocol::label, "A row of label_rules().")
      .def_readwrite("threads", &Protocol::threads, "That the workload runs on.")
      .def("__str__", &protocol_text)
      .def("__repr__", [](const Protocol& protocol) { return "<Protocol " + protocol_text(protocol) + ">"; });
  py::class_<ProtocolRow>(module, "ProtocolRow", "A named protocol.")
      .def_property_readonly("name", [](const ProtocolRow& row) { return python_text(row.name); })
      .def_property_readonly("description", [](const ProtocolRow& row) { return python_text(row.description); })
      .def_property_readonly("protocol", [](const ProtocolRow& row) { return row.protocol; });
  module.def("protocols", &protocols, py::return_value_policy::reference, "The table of protocols.");
  module.def(
      "protocol", [](const std::string& name) { return protocol(name); }, py::arg("name"),
      "A copy of the protocol of this name.");
  py::class_<LabelRule>(module, "LabelRule", "How the one number is chosen from the samples.")
      .def_property_readonly("name", [](const LabelRule& row) { return python_text(row.name); })
      .def_property_readonly("description", [](const LabelRule& row) { return python_text(row.description); });
  module.def("label_rules", &label_rules, py::return_value_policy::reference, "The table of label rules.");
}

void bind_samples(py::module_& module) {
  py::class_<Sample>(module, "Sample", "One timed run, or the mean of runs_per_sample of them.")
      .def(py::init([](double wall_s, double cpu_s, std::int64_t context_switches, std::int64_t waits) {
             return Sample{wall_s, cpu_s, context_switches, waits};
           }),
           py::arg("wall_s"), py::arg("cpu_s") = 0, py::arg("context_switches") = 0, py::arg("waits") = 0)
      .def_readonly("wall_s", &Sample::wall_s)
      .def_readonly("cpu_s", &Sample::cpu_s, "Of the calling thread alone.")
      .def_readonly("context_switches", &Sample::context_switches, "The scheduler took the core away.")
      .def_readonly("waits", &Sample::waits, "The thread gave the core away itself.")
      .def("__repr__", [](const Sample& sample) {
        return concat("<Sample ", sample.wall_s, " s, CPU ", sample.cpu_s, " s, ", sample.context_switches,
                      " context switches>");
      });
  py::class_<Label>(module, "Label", "The one number of several samples, and how it was chosen.")
      .def_readonly("latency_s", &Label::latency_s)
      .def_readonly("how", &Label::how)
      .def_readonly("times_s", &Label::times_s);
  module.def("choose_label", &choose_label, py::arg("samples"), py::arg("protocol"),
             "The label of samples by the protocol's rule.");
}

}  // namespace

void bind_measure(py::module_& module) {
  bind_protocol(module);
  bind_samples(module);
  py::class_<Clock>(module, "Clock", "What times are read from: HostClock, or a GPU's.")
      .def_property_readonly("name", &Clock::name)
      .def_property_readonly("device_fingerprint", &Clock::device_fingerprint);
  py::class_<Measurement>(module, "Measurement", "What one protocol found of one workload.")
      .def_readonly("latency_s", &Measurement::latency_s, "The label.")
      .def_readonly("label", &Measurement::label, "How it was chosen.")
      .def_readonly("first_run", &Measurement::first_run)
      .def_readonly("samples", &Measurement::samples)
      .def_readonly("discarded", &Measurement::discarded, "Samples of repetitions that varied too much.")
      .def_readonly("statistics", &Measurement::statistics, "Of the times that the label was chosen from.")
      .def_readonly("is_stable", &Measurement::is_stable)
      .def_readonly("stopped_by", &Measurement::stopped_by)
      .def_readonly("total_s", &Measurement::total_s)
      .def_readonly("protocol", &Measurement::protocol)
      .def_readonly("clock", &Measurement::clock)
      .def_readwrite("device_fingerprint", &Measurement::device_fingerprint)
      .def_readwrite("versions", &Measurement::versions, "Pairs of library and version.")
      .def("__repr__", [](const Measurement& result) {
        return concat("<Measurement ", result.latency_s, " s, ", result.label, ">");
      });
  // Without the interpreter's lock, which other threads may want; between runs it asks for an interrupt by the user.
  module.def(
      "measure",
      [](ReferenceRun& run, const Protocol& protocol, Clock& clock) {
        const py::gil_scoped_release release;
        return measure(std::ref(run), protocol, clock, [] {
          const py::gil_scoped_acquire acquire;
          if (PyErr_CheckSignals() != 0) throw py::error_already_set();
        });
      },
      py::arg("run_once"), py::arg("protocol"), py::arg("clock"),
      "Runs a reference workload by the protocol on this thread.");
  module.def(
      "measure",
      [](const py::typing::Callable<py::object()>& run_once, const Protocol& protocol, Clock& clock,
         const std::optional<py::typing::Callable<py::object()>>& prepare) {
        const std::function<void()> prepared = prepare ? [&] { (*prepare)(); } : std::function<void()>();
        return measure([&] { run_once(); }, protocol, clock, prepared);
      },
      py::arg("run_once"), py::arg("protocol"), py::arg("clock"), py::arg("prepare") = std::nullopt,
      "Calls run_once by the protocol on this thread; prepare is called before each sample and not timed.");
}

}  // namespace latpred
