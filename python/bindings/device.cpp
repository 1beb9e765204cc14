#include "latpred/device.h"

#include <memory>
#include <utility>

#include "bindings.h"
#include "latpred/host_reads.h"

namespace py = pybind11;

namespace latpred {

void bind_device(py::module_& module) {
  py::class_<Fact>(module, "Fact", "A number, and whether it was worked out by a rule instead of read in a source.")
      .def_readonly("value", &Fact::value)
      .def_readonly("estimated", &Fact::estimated)
      .def("__repr__", [](const Fact& fact) {
        return py::cast<std::string>(py::repr(py::float_(fact.value))) + (fact.estimated ? " (estimated)" : "");
      });

  py::class_<Device, std::shared_ptr<Device>>(module, "Device", "A row of the device table. None means unknown.")
      .def_readonly("name", &Device::name)
      .def_readonly("vendor_name", &Device::vendor_name, "What the driver reports.")
      .def_readonly("architecture", &Device::architecture)
      .def_readonly("is_gpu", &Device::is_gpu)
      .def_readonly("compute_capability", &Device::compute_capability, "major x 10 + minor")
      .def_readonly("sms", &Device::sms, "Streaming multiprocessors; cores of a CPU.")
      .def_readonly("cuda_cores", &Device::cuda_cores)
      .def_readonly("tensor_cores", &Device::tensor_cores)
      .def_readonly("clock_hz", &Device::clock_hz)
      .def_readonly("memory_bytes", &Device::memory_bytes)
      .def_readonly("memory_type", &Device::memory_type)
      .def_readonly("memory_bus_bits", &Device::memory_bus_bits)
      .def_readonly("memory_clock_hz", &Device::memory_clock_hz)
      .def_readonly("bandwidth_bytes_per_s", &Device::bandwidth_bytes_per_s)
      .def_readonly("l2_bytes", &Device::l2_bytes)
      .def_readonly("fp32_flops_per_s", &Device::fp32_flops_per_s)
      .def_readonly("tf32_flops_per_s", &Device::tf32_flops_per_s)
      .def_readonly("fp16_flops_per_s", &Device::fp16_flops_per_s)
      .def_readonly("bf16_flops_per_s", &Device::bf16_flops_per_s)
      .def_readonly("int8_ops_per_s", &Device::int8_ops_per_s)
      .def_readonly("fp8_flops_per_s", &Device::fp8_flops_per_s)
      .def_readonly("power_limit_w", &Device::power_limit_w)
      .def_readonly("has_mig", &Device::has_mig)
      .def_readonly("sustained_share", &Device::sustained_share,
                    "Share of the data-sheet peak that a long run holds under the power limit.")
      .def_readonly("bandwidth_bytes_per_s_per_sm", &Device::bandwidth_bytes_per_s_per_sm)
      .def_readonly("idle_power_w", &Device::idle_power_w)
      .def_readonly("context_bytes", &Device::context_bytes, "Driver context and loaded libraries.")
      .def_readonly("source", &Device::source)
      .def_readonly("note", &Device::note)
      .def(
          "peak_flops_per_s",
          [](const Device& device, const std::string& name) {
            for (std::size_t i = 0; i < kNumArithmetics; ++i) {
              const auto arithmetic = static_cast<Arithmetic>(i);
              if (arithmetic_name(arithmetic) == name) return device.peak_flops_per_s(arithmetic);
            }
            return std::optional<double>();
          },
          py::arg("arithmetic"), "Peak of the units that run this arithmetic; None where it is unknown.")
      .def("__repr__", [](const Device& device) { return "<Device " + device.name + ">"; });
  module.def("devices", &devices, py::return_value_policy::reference, "The device table.");
  module.def("device", &device, py::arg("name"), py::return_value_policy::reference,
             "The device of this name, vendor name or alias.");
  module.def(
      "host_device",
      [](std::string processor, double cores, double memory_bytes, std::optional<double> last_cache_bytes) {
        return std::make_shared<Device>(host_device(std::move(processor), cores, memory_bytes, last_cache_bytes));
      },
      py::arg("processor"), py::arg("cores"), py::arg("memory_bytes"), py::arg("last_cache_bytes") = std::nullopt,
      "This machine by what its system says; peaks and bandwidth are unknown.");
  py::class_<HostRead>(module, "HostRead", "What one core alone and all at once read, each of so many bytes.")
      .def(py::init<double, double, double>(), py::arg("bytes_of_each"), py::arg("one_bytes_per_s"),
           py::arg("all_bytes_per_s"));
  module.def(
      "with_speed",
      [](const Device& host, double fp32_flops_per_s, const std::vector<HostRead>& reads, std::string note) {
        return std::make_shared<Device>(with_speed(host, fp32_flops_per_s, reads, std::move(note)));
      },
      py::arg("host"), py::arg("fp32_flops_per_s"), py::arg("reads"), py::arg("note"),
      "The same with what was measured on it.");
  module.def("device_aliases", &device_aliases, "Pairs of alias and table name.");
}

}  // namespace latpred
