#include "latpred/interval.h"

#include "bindings.h"

namespace py = pybind11;

namespace latpred {

void bind_interval(py::module_& module) {
  py::class_<IntervalTerms>(module, "IntervalTerms", "What the width of an interval is made of, on the log scale.")
      .def_readonly("known_device", &IntervalTerms::known_device)
      .def_readonly("unknown_device", &IntervalTerms::unknown_device)
      .def_readonly("device_sd", &IntervalTerms::device_sd)
      .def_readonly("host_sd", &IntervalTerms::host_sd)
      .def_readonly("cpu", &IntervalTerms::cpu);
  py::class_<Evidence>(module, "Evidence", "What a predictor was fitted and checked on.")
      .def_readonly("predictor", &Evidence::predictor)
      .def_readonly("devices", &Evidence::devices)
      .def_readonly("versions", &Evidence::versions)
      .def_readonly("terms", &Evidence::terms);
}

}  // namespace latpred
