// The extension module latpred._predictors: LibTorch behind NumPy arrays. Tensors do not cross.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "latpred/error.h"
#include "latpred/text.h"
#include "predictors_module.h"
#include "training/mlp_regressor.h"

namespace py = pybind11;

namespace latpred {
namespace {

using Array = py::array_t<double, py::array::c_style | py::array::forcecast>;

RowTable row_table(const Array& features) {
  if (features.ndim() != 2) {
    throw InvalidArgumentError(concat("features must be an array [rows, columns], got ", features.ndim(), " axes"));
  }
  return {{features.data(), static_cast<std::size_t>(features.size())}, {}, features.shape(0), features.shape(1)};
}

py::array_t<double> to_array(const std::vector<double>& values) {
  return py::array_t<double>(static_cast<py::ssize_t>(values.size()), values.data());
}

py::array_t<double> fit_rows(MlpRegressor& regressor, const Array& features, const Array& targets, std::int64_t epochs,
                             std::int64_t batch_rows, double learning_rate, double huber_delta, std::uint64_t seed) {
  RowTable table = row_table(features);
  if (targets.ndim() != 1) {
    throw InvalidArgumentError(concat("targets must be an array [rows], got ", targets.ndim(), " axes"));
  }
  table.targets = {targets.data(), static_cast<std::size_t>(targets.size())};
  const FitOptions options{epochs, batch_rows, learning_rate, huber_delta, seed};
  const FitReport report = [&] {
    const py::gil_scoped_release release;
    return regressor.fit(table, options);
  }();
  return to_array(report.losses);
}

py::array_t<double> predict_rows(const MlpRegressor& regressor, const Array& features) {
  const RowTable table = row_table(features);
  const std::vector<double> values = [&] {
    const py::gil_scoped_release release;
    return regressor.predict(table);
  }();
  return to_array(values);
}

}  // namespace

PYBIND11_MODULE(_predictors, module) {
  module.doc() = "The LibTorch part of latpred. Private: load it through latpred._torch.";
  // Its errors are of the classes that _core translates.
  py::module_::import("latpred._core");
  const FitOptions defaults;
  py::class_<MlpRegressor>(module, "MlpRegressor", "A multi-layer perceptron: rows of features to one number each.")
      .def(py::init<std::vector<std::int64_t>>(), py::arg("hidden"))
      .def("fit", &fit_rows, py::arg("features"), py::arg("targets"), py::kw_only(),
           py::arg("epochs") = defaults.epochs, py::arg("batch_rows") = defaults.batch_rows,
           py::arg("learning_rate") = defaults.learning_rate, py::arg("huber_delta") = defaults.huber_delta,
           py::arg("seed") = defaults.seed,
           "Trains from fresh weights, equal for equal seeds; the mean loss of each epoch.")
      .def("predict", &predict_rows, py::arg("features"))
      .def_property_readonly("hidden", &MlpRegressor::hidden)
      .def_property_readonly("num_parameters", &MlpRegressor::num_parameters);
  bind_graph_trainer(module);
  bind_kernel_residual(module);
  bind_net_regressors(module);
  bind_transformer(module);
  bind_plain_net(module);
}

}  // namespace latpred
