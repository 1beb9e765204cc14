#include "latpred/input_copy.h"

#include "bindings.h"

namespace py = pybind11;

namespace latpred {

void bind_input_copy(py::module_& module) {
  module.def(
      "input_copy_s",
      [](const Graph& graph, const std::string& device_name, const std::string& input_on) {
        return input_copy_s(graph, device(device_name), input_on);
      },
      py::arg("graph"), py::arg("device"), py::arg("input_on"),
      "Seconds in which a graph's inputs travel to a device from where they lie.");
}

}  // namespace latpred
