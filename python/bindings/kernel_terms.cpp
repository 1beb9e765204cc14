#include "latpred/kernel_terms.h"

#include <pybind11/numpy.h>

#include <algorithm>
#include <map>

#include "bindings.h"

namespace py = pybind11;

namespace latpred {
namespace {

struct TermTable {
  py::array_t<double> terms;    // [K, T]
  py::array_t<double> columns;  // [K, F]
  py::array_t<double> counts;   // [K]
};

using Row = std::vector<double>;  // [T + F]

// Kernels that are equal in every number are one row.
std::map<Row, double> merged(const Kernels& kernels, const Device& on, const Partition& part) {
  const std::vector<TermRow>& terms = term_rows();
  const Runtime& by = runtime(kernels.runtime);
  std::map<Row, double> counts;
  Row row(terms.size() + term_columns().size());
  for (const Kernel& kernel : kernels.rows) {
    const KernelTerms of_kernel = kernel_terms(kernel, on, part);
    std::transform(terms.begin(), terms.end(), row.begin(), [&](const TermRow& term) { return term.value(of_kernel); });
    fill_term_columns({kernel, on, by}, row.data() + terms.size());
    counts[row] += static_cast<double>(kernel.repeat);
  }
  return counts;
}

TermTable term_table(const Kernels& kernels, const std::string& device_name, const std::string& partition_name) {
  const Device& on = device(device_name);
  const std::map<Row, double> rows = merged(kernels, on, partition(on, partition_name));
  const auto num_rows = static_cast<py::ssize_t>(rows.size());
  const auto num_terms = static_cast<py::ssize_t>(term_rows().size());
  const auto num_columns = static_cast<py::ssize_t>(term_columns().size());
  TermTable table{py::array_t<double>({num_rows, num_terms}), py::array_t<double>({num_rows, num_columns}),
                  py::array_t<double>(num_rows)};
  double* term = table.terms.mutable_data();
  double* column = table.columns.mutable_data();
  double* count = table.counts.mutable_data();
  for (const auto& [row, repeats] : rows) {
    term = std::copy(row.begin(), row.begin() + num_terms, term);
    column = std::copy(row.begin() + num_terms, row.end(), column);
    *count++ = repeats;
  }
  return table;
}

}  // namespace

void bind_kernel_terms(py::module_& module) {
  py::class_<TermRow>(module, "TermRow", "A physical number of a kernel on a device.")
      .def_readonly("name", &TermRow::name)
      .def_readonly("unit", &TermRow::unit);
  py::class_<TermColumn>(module, "TermColumn", "An input of the learnt efficiency of a kernel.")
      .def_readonly("name", &TermColumn::name)
      .def_readonly("unit", &TermColumn::unit)
      .def_readonly("description", &TermColumn::description);
  module.def(
      "memory_kinds", [] { return std::vector(kMemoryKindNames.begin() + 1, kMemoryKindNames.end()); },
      "Kinds of memory that differ in what they hold of their bandwidth, by KernelTerms' id, from 1 on.");
  module.def("term_rows", &term_rows, py::return_value_policy::reference, "What KernelTerms.terms holds.");
  module.def("term_columns", &term_columns, py::return_value_policy::reference, "What KernelTerms.columns holds.");
  py::class_<TermTable>(module, "KernelTerms", "Kernels on a device as plain numbers, equal ones once.")
      .def_readonly("terms", &TermTable::terms, "float64 [K, T]: term_rows()")
      .def_readonly("columns", &TermTable::columns, "float64 [K, F]: term_columns()")
      .def_readonly("counts", &TermTable::counts, "float64 [K]: kernels that a row stands for, repeats included");
  module.def("kernel_terms", &term_table, py::arg("kernels"), py::arg("device"), py::arg("partition") = "",
             "What the predictor kernel_residual starts from.");
}

}  // namespace latpred
