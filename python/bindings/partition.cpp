#include "latpred/partition.h"

#include "bindings.h"
#include "predict/mig.h"

namespace py = pybind11;

namespace latpred {

void bind_partition(py::module_& module) {
  py::class_<Partition>(module, "Partition", "A part of a device, or all of it.")
      .def_readonly("name", &Partition::name, "Empty: the whole device.")
      .def_readonly("sms", &Partition::sms)
      .def_readonly("sm_share", &Partition::sm_share)
      .def_readonly("memory_bytes", &Partition::memory_bytes, "Usable.")
      .def_readonly("bandwidth_share", &Partition::bandwidth_share)
      .def_readonly("l2_share", &Partition::l2_share)
      .def_readonly("max_instances", &Partition::max_instances, "How many fit on one device.")
      .def("bandwidth_bytes_per_s", &Partition::bandwidth_bytes_per_s, py::arg("device"),
           "What its memory slices and its SMs can move.")
      .def("__repr__", [](const Partition& partition) {
        return "<Partition " + (partition.name.empty() ? "whole device" : partition.name) + ">";
      });
  module.def(
      "partition",
      [](const std::string& device_name, const std::string& name) { return partition(device(device_name), name); },
      py::arg("device"), py::arg("name") = "", "The part of a device that `name` stands for.");
  module.def(
      "partition", [](const Device& of, const std::string& name) { return partition(of, name); }, py::arg("device"),
      py::arg("name") = "");
  module.def(
      "mig_profiles", [](const std::string& device_name) { return mig_profiles(device(device_name)); },
      py::arg("device"), "MIG profiles of a device, smallest first; empty where it has none.");
  module.def(
      "pick_mig_profile",
      [](const std::string& device_name, const std::string& rule, double memory_bytes, double upper_bytes) {
        return pick_mig_profile(device(device_name), rule, {.total_bytes = memory_bytes},
                                {.lower = memory_bytes, .upper = upper_bytes});
      },
      py::arg("device"), py::arg("rule"), py::arg("memory_bytes"), py::arg("upper_bytes"),
      "The MIG profile that a mig_rule picks for a memory and the upper end of its interval; None: there is none.");
}

}  // namespace latpred
