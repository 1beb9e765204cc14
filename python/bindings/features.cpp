#include "latpred/features.h"

#include <pybind11/numpy.h>

#include <algorithm>

#include "bindings.h"

namespace py = pybind11;

namespace latpred {
namespace {

py::array_t<double> column(const Features& features, double KernelPhysics::* member) {
  py::array_t<double> values(static_cast<py::ssize_t>(features.physics.size()));
  std::transform(features.physics.begin(), features.physics.end(), values.mutable_data(),
                 [member](const KernelPhysics& row) { return row.*member; });
  return values;
}

}  // namespace

void bind_features(py::module_& module) {
  py::class_<FeatureColumn>(module, "FeatureColumn", "A row of the feature table.")
      .def_readonly("name", &FeatureColumn::name)
      .def_readonly("unit", &FeatureColumn::unit)
      .def_readonly("description", &FeatureColumn::description);
  module.def("feature_columns", &feature_columns, py::return_value_policy::reference, "The feature table.");

  py::class_<Features>(module, "Features", "A table of kernels on a device.")
      .def_property_readonly(
          "values",
          [](const Features& features) {
            py::array_t<double> values({features.num_kernels, features.num_columns});
            std::copy(features.values.begin(), features.values.end(), values.mutable_data());
            return values;
          },
          "float64 [K, F], columns as in feature_columns()")
      .def_property_readonly(
          "peak_flops_per_s",
          [](const Features& features) { return column(features, &KernelPhysics::peak_flops_per_s); })
      .def_property_readonly(
          "bandwidth_bytes_per_s",
          [](const Features& features) { return column(features, &KernelPhysics::bandwidth_bytes_per_s); })
      .def_property_readonly("compute_s",
                             [](const Features& features) { return column(features, &KernelPhysics::compute_s); })
      .def_property_readonly("memory_s",
                             [](const Features& features) { return column(features, &KernelPhysics::memory_s); })
      .def_property_readonly("roofline_s",
                             [](const Features& features) { return column(features, &KernelPhysics::roofline_s); });
  module.def(
      "featurize",
      [](const Kernels& kernels, const std::string& device_name, const std::string& partition_name) {
        const Device& on = device(device_name);
        return featurize(kernels, on, partition(on, partition_name));
      },
      py::arg("kernels"), py::arg("device"), py::arg("partition") = "", py::call_guard<py::gil_scoped_release>(),
      "The features of kernels on a device or a part of it.");
}

}  // namespace latpred
