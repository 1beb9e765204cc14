#include "latpred/host_clock.h"

#include "bindings.h"

namespace py = pybind11;

namespace latpred {

void bind_host_clock(py::module_& module) {
  py::class_<HostClock, Clock>(module, "HostClock", "Monotonic and thread CPU clock, and context switches.")
      .def(py::init<>())
      .def("start", &HostClock::start)
      .def("stop", &HostClock::stop, "The sample since start().")
      .def("now_s", &HostClock::now_s);
}

}  // namespace latpred
