#include "latpred/colocation.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"

namespace py = pybind11;

namespace latpred {

void bind_colocation(py::module_& module) {
  py::class_<ResourceProfile>(module, "ResourceProfile", "What a network asks of its share of a device when alone.")
      .def(py::init([](double latency_s, double busy_share, double sm_share, double memory_share) {
             return ResourceProfile{latency_s, busy_share, sm_share, memory_share};
           }),
           py::kw_only(), py::arg("latency_s"), py::arg("busy_share"), py::arg("sm_share"), py::arg("memory_share"))
      .def_readonly("latency_s", &ResourceProfile::latency_s)
      .def_readonly("busy_share", &ResourceProfile::busy_share)
      .def_readonly("sm_share", &ResourceProfile::sm_share)
      .def_readonly("memory_share", &ResourceProfile::memory_share);
  module.def(
      "resource_profile",
      [](const Kernels& kernels, const Device& device, const std::string& part, double latency_s, double busy_s) {
        return resource_profile(kernels, device, partition(device, part), latency_s, busy_s);
      },
      py::arg("kernels"), py::arg("device"), py::arg("partition"), py::arg("latency_s"), py::arg("busy_s"));
  module.def(
      "core_times", [](const Kernels& kernels, const Device& core) { return core_times(kernels, core); },
      py::arg("kernels"), py::arg("core"),
      "Seconds of dense arithmetic, grouped convolutions and traffic, and the number of kernels.");

  py::class_<SharingMode>(module, "SharingMode", "A way to share a device.")
      .def_readonly("name", &SharingMode::name)
      .def_readonly("description", &SharingMode::description)
      .def_readonly("on_gpus", &SharingMode::on_gpus)
      .def_readonly("on_cpus", &SharingMode::on_cpus)
      .def_property_readonly(
          "terms",
          [](const SharingMode& mode) {
            std::vector<std::pair<std::string, std::string>> found;
            for (const InterferenceTerm& term : mode.terms) found.emplace_back(term.name, term.description);
            return found;
          },
          "Name and description of each.");
  module.def("sharing_modes", &sharing_modes, py::return_value_policy::reference, "All ways to share a device.");
  module.def(
      "interference",
      [](const std::string& mode, const std::vector<ResourceProfile>& members, std::size_t target) {
        return interference(sharing_mode(mode), members, target);
      },
      py::arg("mode"), py::arg("members"), py::arg("target"), "The terms of one member beside all others.");
  module.def("slow_down", &slow_down, py::arg("coefficients"), py::arg("terms"), "1 + coefficients x terms.");
  module.def("fit_interference", &fit_interference, py::arg("terms"), py::arg("slow_downs"),
             "The non-negative coefficients with the smallest mean absolute error.");
}

}  // namespace latpred
