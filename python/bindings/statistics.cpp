#include "latpred/statistics.h"

#include "bindings.h"

namespace py = pybind11;

namespace latpred {

void bind_statistics(py::module_& module) {
  py::class_<Statistics>(module, "Statistics", "What repeated times say; seconds, and shares relative to 1.")
      .def_readonly("count", &Statistics::count)
      .def_readonly("min", &Statistics::min)
      .def_readonly("max", &Statistics::max)
      .def_readonly("mean", &Statistics::mean)
      .def_readonly("median", &Statistics::median)
      .def_readonly("p05", &Statistics::p05)
      .def_readonly("p25", &Statistics::p25)
      .def_readonly("p75", &Statistics::p75)
      .def_readonly("p95", &Statistics::p95)
      .def_readonly("median_absolute_deviation", &Statistics::median_absolute_deviation)
      .def_readonly("noise", &Statistics::noise, "1.4826 times the median absolute deviation, over the median.")
      .def_readonly("outliers", &Statistics::outliers, "How many of the times.")
      .def_readonly("standard_deviation", &Statistics::standard_deviation, "Unbiased; None for a single time.")
      .def_readonly("coefficient_of_variation", &Statistics::coefficient_of_variation,
                    "Standard deviation over mean; None for a single time.")
      .def("__repr__", [](const Statistics& result) {
        return concat("<Statistics of ", result.count, " times, median ", result.median, " s>");
      });
  module.def("statistics", &statistics, py::arg("values"), "What these times say.");
  module.def("outliers", &outliers, py::arg("values"),
             "Which of them are further than 3.5 robust standard deviations from the median.");
}

}  // namespace latpred
