// The fit of the predictor kernel_residual: arrays by name in, arrays by name out.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <utility>
#include <vector>

#include "latpred/error.h"
#include "latpred/text.h"
#include "named_arrays_module.h"
#include "predictors_module.h"
#include "training/kernel_residual_trainer.h"

namespace py = pybind11;

namespace latpred {
namespace {

// Views of a dict's arrays, which stay alive with it.
class HeldRows {
 public:
  explicit HeldRows(const py::dict& arrays) : arrays_(arrays) {
    rows_.num_columns = integer("num_columns");
    rows_.num_kinds = integer("num_kinds");
    rows_.num_devices = integer("num_devices");
    rows_.num_chips = integer("num_chips");
    rows_.num_versions = integer("num_versions");
    rows_.num_launches = integer("num_launches");
    rows_.num_hosts = integer("num_hosts");
    rows_.num_host_kinds = integer("num_host_kinds");
    rows_.inputs = view<double>("inputs");
    rows_.input_kind = view<std::int64_t>("input_kind");
    rows_.first_kernel = view<std::int64_t>("first_kernel");
    rows_.input = view<std::int64_t>("input");
    rows_.count = view<double>("count");
    rows_.compute_s = view<double>("compute");
    rows_.wave_factor = view<double>("wave_factor");
    rows_.activation_bytes = view<double>("activation_bytes");
    rows_.weight_bytes = view<double>("weight_bytes");
    rows_.bandwidth_bytes_per_s = view<double>("bandwidth");
    rows_.l2_bytes = view<double>("l2_bytes");
    rows_.least_compute_s = view<double>("least_compute");
    rows_.least_memory_s = view<double>("least_memory");
    rows_.units = view<std::int64_t>("units");
    rows_.library = view<std::int64_t>("library");
    rows_.gap_scale = view<double>("gap_scale");
    rows_.cycles_per_byte = view<double>("cycles_per_byte");
    rows_.memory_kind = view<std::int64_t>("memory_kind");
    rows_.host_kind = view<std::int64_t>("host_kind");
    rows_.host_weight = view<double>("host_weight");
    rows_.version_sd = view<double>("version_sd");
    rows_.version_gap_sd = view<double>("version_gap_sd");
    rows_.host_kind_sd = view<double>("host_kind_sd");
    rows_.num_host_columns = integer("num_host_columns");
    rows_.host_columns = view<double>("host_columns");
    rows_.host_column_sd = view<double>("host_column_sd");
    rows_.view_kind = integer("view_kind");
    rows_.view_weight = view<double>("view_weight");
    rows_.host_s = view<double>("host_s");
    rows_.copy_s = view<double>("copy_s");
    rows_.device = view<std::int64_t>("device");
    rows_.chip = view<std::int64_t>("chip");
    rows_.version = view<std::int64_t>("version");
    rows_.launch = view<std::int64_t>("launch");
    rows_.host = view<std::int64_t>("host");
    if (arrays_.contains("latency_s")) rows_.latency_s = view<double>("latency_s");
    if (arrays_.contains("weight")) rows_.weight = view<double>("weight");
    if (arrays_.contains("shows_host")) rows_.shows_host = view<std::int64_t>("shows_host");
  }

  [[nodiscard]] const KernelRows& rows() const { return rows_; }

 private:
  py::object entry(const char* name) {
    if (!arrays_.contains(name)) throw InvalidArgumentError(concat("the rows have no '", name, "'"));
    return arrays_[name];
  }
  std::int64_t integer(const char* name) { return entry(name).cast<std::int64_t>(); }

  template <typename Value>
  std::span<const Value> view(const char* name) {
    const auto array = entry(name).cast<py::array_t<Value, py::array::c_style | py::array::forcecast>>();
    held_.push_back(array);
    return {array.data(), static_cast<std::size_t>(array.size())};
  }

  py::dict arrays_;
  std::vector<py::object> held_;
  KernelRows rows_;
};

py::tuple fit_calls(const py::dict& arrays, const KernelResidualOptions& options, const py::object& epoch_done) {
  const HeldRows held(arrays);
  const EpochDone report = [&](std::int64_t epoch, double loss) {
    const py::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();  // Ctrl-C
    if (!epoch_done.is_none()) epoch_done(epoch, loss);
  };
  const KernelResidualFit found = [&] {
    const py::gil_scoped_release release;
    return fit_kernel_residual(held.rows(), options, report);
  }();
  return py::make_tuple(to_python(found.arrays), found.losses);
}

std::pair<py::array_t<double>, py::array_t<double>> predict_calls(const std::vector<py::dict>& members,
                                                                  const py::dict& arrays) {
  const HeldRows held(arrays);
  std::vector<NamedArrays> fitted;
  for (const py::dict& member : members) fitted.push_back(from_python(member));
  const PredictedSeconds predicted = [&] {
    const py::gil_scoped_release release;
    return predict_kernel_residual(fitted, held.rows());
  }();
  const auto array = [](const std::vector<double>& values) {
    return py::array_t<double>(static_cast<py::ssize_t>(values.size()), values.data());
  };
  return {array(predicted.latency_s), array(predicted.host_s)};
}

}  // namespace

void bind_kernel_residual(py::module_& module) {
  using Options = KernelResidualOptions;
  py::class_<Options>(module, "KernelResidualOptions", "How kernel_residual is fitted.")
      .def(py::init<>())
      .def_readwrite("hidden", &Options::hidden)
      .def_readwrite("epochs", &Options::epochs)
      .def_readwrite("batch_rows", &Options::batch_rows)
      .def_readwrite("learning_rate", &Options::learning_rate)
      .def_readwrite("huber_beta", &Options::huber_beta)
      .def_readwrite("weight_penalty", &Options::weight_penalty)
      .def_readwrite("prior_weight", &Options::prior_weight)
      .def_readwrite("chip_sd", &Options::chip_sd)
      .def_readwrite("chip_memory_sd", &Options::chip_memory_sd)
      .def_readwrite("device_sd", &Options::device_sd)
      .def_readwrite("device_memory_sd", &Options::device_memory_sd)
      .def_readwrite("gap_sd", &Options::gap_sd)
      .def_readwrite("launch_sd", &Options::launch_sd)
      .def_readwrite("host_sd", &Options::host_sd)
      .def_readwrite("kind_sd", &Options::kind_sd)
      .def_readwrite("memory_sd", &Options::memory_sd)
      .def_readwrite("seed", &Options::seed);
  module.def("fit_kernel_residual", &fit_calls, py::arg("rows"), py::arg("options"), py::arg("epoch_done") = py::none(),
             "Fitted arrays by name and the loss of each epoch; equal for equal seeds.");
  module.def(
      "predict_kernel_residual", &predict_calls, py::arg("members"), py::arg("rows"),
      "By the mean of fitted members: float64 [N] seconds, and [N] those that the host takes, some of them while "
      "the device computes.");
}

}  // namespace latpred
