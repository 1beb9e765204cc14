#include "latpred/energy.h"

#include "bindings.h"

namespace py = pybind11;

namespace latpred {

void bind_energy(py::module_& module) {
  py::class_<EnergyEstimate>(module, "EnergyEstimate", "Board energy of one call.")
      .def_readonly("energy_j", &EnergyEstimate::energy_j)
      .def_readonly("mean_power_w", &EnergyEstimate::mean_power_w)
      .def_readonly("lower_j", &EnergyEstimate::lower_j, "Idle power times the latency.")
      .def_readonly("upper_j", &EnergyEstimate::upper_j, "Power limit times the latency.")
      .def_readonly("power_log_half_width", &EnergyEstimate::power_log_half_width)
      .def_property_readonly("provenance",
                             [](const EnergyEstimate& estimate) { return python_text(estimate.provenance); });
  module.def(
      "estimate_energy",
      [](const Kernels& kernels, const std::vector<double>& kernel_s, double latency_s, const std::string& device_name,
         const std::string& part) {
        const Device& row = device(device_name);
        const Partition slice = partition(row, part);
        return estimate_energy(kernels, featurize(kernels, row, slice, false), kernel_s, latency_s, row, slice);
      },
      py::arg("kernels"), py::arg("kernel_s"), py::arg("latency_s"), py::arg("device"), py::arg("partition") = "",
      "Energy of a call of `latency_s` in which each kernel row runs for `kernel_s`; None where it is unknown.");
}

}  // namespace latpred
