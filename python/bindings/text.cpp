#include "latpred/text.h"

#include "bindings.h"

namespace py = pybind11;

namespace latpred {

void bind_text(py::module_& module) {
  module.def(
      "unknown_name_message",
      [](const std::string& what, const std::string& name, const std::vector<std::string>& valid) {
        return unknown_name_message(what, name, valid);
      },
      py::arg("what"), py::arg("name"), py::arg("valid"), "The message of every failed look-up.");
}

}  // namespace latpred
