#include "latpred/memory.h"

#include "bindings.h"

namespace py = pybind11;

namespace latpred {

void bind_memory(py::module_& module) {
  py::class_<MemoryEstimate>(module, "MemoryEstimate", "Peak memory of the process on the device and its parts.")
      .def_readonly("weights_bytes", &MemoryEstimate::weights_bytes)
      .def_readonly("inputs_bytes", &MemoryEstimate::inputs_bytes)
      .def_readonly("activations_peak_bytes", &MemoryEstimate::activations_peak_bytes)
      .def_readonly("workspace_bytes", &MemoryEstimate::workspace_bytes)
      .def_readonly("allocator_bytes", &MemoryEstimate::allocator_bytes)
      .def_readonly("context_bytes", &MemoryEstimate::context_bytes)
      .def_readonly("total_bytes", &MemoryEstimate::total_bytes)
      .def_readonly("peak_node", &MemoryEstimate::peak_node, "Id of the node that runs at the peak; -1: none.");
  module.def(
      "estimate_memory",
      [](const Graph& graph, const Kernels& kernels, const std::string& device_name, bool autograd,
         std::optional<double> capacity_bytes) {
        return estimate_memory(graph, kernels, device(device_name),
                               {.autograd = autograd, .capacity_bytes = capacity_bytes});
      },
      py::arg("graph"), py::arg("kernels"), py::arg("device") = "A100", py::arg("autograd") = false,
      py::arg("capacity_bytes") = py::none(), py::call_guard<py::gil_scoped_release>());
}

}  // namespace latpred
