#include "latpred/criterion.h"

#include "bindings.h"

namespace py = pybind11;

namespace latpred {

void bind_criterion(py::module_& module) {
  py::class_<CriterionRow>(module, "Criterion", "A row of the table of stopping criteria.")
      .def_property_readonly("name", [](const CriterionRow& row) { return python_text(row.name); })
      .def_property_readonly("description", [](const CriterionRow& row) { return python_text(row.description); })
      .def_readonly("default_threshold", &CriterionRow::default_threshold)
      .def_property_readonly("threshold_meaning",
                             [](const CriterionRow& row) { return python_text(row.threshold_meaning); })
      .def("__repr__", [](const CriterionRow& row) { return concat("<Criterion ", row.name, ">"); });
  module.def("criteria", &criteria, py::return_value_policy::reference, "The table of stopping criteria.");
  module.def(
      "samples_wanted",
      [](const std::string& name, const std::vector<double>& times_s,
         std::optional<double> threshold) -> std::optional<std::size_t> {
        const CriterionRow& row = criterion_row(name);
        const auto criterion = row.make(threshold.value_or(row.default_threshold));
        for (std::size_t i = 0; i < times_s.size(); ++i) {
          criterion->add(times_s[i]);
          if (criterion->is_satisfied()) return i + 1;
        }
        return std::nullopt;
      },
      py::arg("criterion"), py::arg("times_s"), py::arg("threshold") = std::nullopt,
      "After how many of these times the criterion would have stopped; None: it would have gone on.");
}

}  // namespace latpred
