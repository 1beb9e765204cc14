#include "latpred/memory_fit.h"

#include "bindings.h"

namespace py = pybind11;

namespace latpred {

void bind_memory_fit(py::module_& module) {
  py::class_<MemoryFit>(module, "MemoryFit", "Whether the memory that a network needs is there.")
      .def_readonly("fits", &MemoryFit::fits)
      .def_readonly("usable_bytes", &MemoryFit::usable_bytes)
      .def_readonly("needed_bytes", &MemoryFit::needed_bytes);
  const auto unlocked = py::call_guard<py::gil_scoped_release>();
  module.def("memory_fit", &memory_fit, py::arg("graph"), py::arg("request"), unlocked);
  module.def("largest_batch", &largest_batch, py::arg("graph"), py::arg("request"), unlocked,
             "The largest batch whose memory fits; 0 where batch 1 does not.");
}

}  // namespace latpred
