#include "latpred/host_facts.h"

#include "bindings.h"

namespace py = pybind11;

namespace latpred {

void bind_host_facts(py::module_& module) {
  py::class_<Cache>(module, "Cache", "A cache of the processor.")
      .def_readonly("level", &Cache::level)
      .def_readonly("kind", &Cache::kind)
      .def_readonly("size_bytes", &Cache::size_bytes)
      .def_readonly("shared_by", &Cache::shared_by, "Logical processors.")
      .def("__repr__", [](const Cache& cache) {
        return concat("<Cache L", cache.level, " ", cache.kind, ", ", cache.size_bytes, " bytes>");
      });
  py::class_<HostFacts>(module, "HostFacts", "What the system says about this machine. None and empty mean unknown.")
      .def_readonly("model_name", &HostFacts::model_name)
      .def_readonly("vendor", &HostFacts::vendor)
      .def_readonly("family", &HostFacts::family)
      .def_readonly("model", &HostFacts::model)
      .def_readonly("stepping", &HostFacts::stepping)
      .def_readonly("logical_cores", &HostFacts::logical_cores)
      .def_readonly("physical_cores", &HostFacts::physical_cores)
      .def_readonly("allowed_cores", &HostFacts::allowed_cores, "That the first to ask may run on.")
      .def_readonly("caches", &HostFacts::caches)
      .def_readonly("isa_level", &HostFacts::isa_level)
      .def_readonly("isa_features", &HostFacts::isa_features)
      .def_readonly("memory_bytes", &HostFacts::memory_bytes)
      .def_readonly("is_virtual", &HostFacts::is_virtual)
      .def_readonly("fingerprint", &HostFacts::fingerprint)
      .def("__repr__", [](const HostFacts& facts) { return "<HostFacts " + facts.fingerprint + ">"; });
  module.def("host_facts", &host_facts, py::return_value_policy::reference, "This machine.");
  py::class_<BandwidthPoint>(module, "BandwidthPoint", "Reads by one thread over a working set.")
      .def_readonly("working_set_bytes", &BandwidthPoint::working_set_bytes)
      .def_readonly("bytes_per_s", &BandwidthPoint::bytes_per_s);
  py::class_<HostSpeed>(module, "HostSpeed", "What one core really does, measured.")
      .def_readonly("read_bandwidth", &HostSpeed::read_bandwidth)
      .def_readonly("fp32_flops_per_s", &HostSpeed::fp32_flops_per_s)
      .def_readonly("kernels", &HostSpeed::kernels, "The instruction set of the loops.")
      .def_readonly("measured_s", &HostSpeed::measured_s, "How long it took.");
  module.def("measure_host", &measure_host, py::arg("budget_s") = 1.5, py::call_guard<py::gil_scoped_release>(),
             "Bandwidth by working set and FMA peak of this thread's core, in about so many seconds.");
}

}  // namespace latpred
