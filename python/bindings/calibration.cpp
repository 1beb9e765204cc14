#include "latpred/calibration.h"

#include <pybind11/numpy.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>
#include <utility>

#include "bindings.h"

namespace py = pybind11;

namespace latpred {
namespace {

// Hash of the graph in 16 hexadecimal digits, batch, seconds, spread.
using RecordTuple = std::tuple<std::string, std::int64_t, double, std::optional<double>>;

std::uint64_t parse_hash(const std::string& text) {
  std::uint64_t hash = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, hash, 16);
  if (text.size() == 16 && error == std::errc{} && stopped == end) return hash;
  throw InvalidArgumentError(concat("calibration: '", text, "' is no hash of a graph; expected 16 hexadecimal digits"));
}

std::size_t kind_index(const std::string& name) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kNumCostKinds; ++i) names.emplace_back(cost_kind_name(static_cast<CostKind>(i)));
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw InvalidArgumentError(unknown_name_message("cost kind", name, names));
  return static_cast<std::size_t>(found - names.begin());
}

}  // namespace

void bind_calibration(py::module_& module) {
  py::class_<Calibration, std::shared_ptr<Calibration>>(module, "CalibrationFactors",
                                                        "What a calibration puts on a predictor's times.")
      .def(py::init([](std::string name, std::string device, std::string partition, std::string runtime,
                       std::string precision, std::string input_on, std::string predictor, std::optional<double> scale,
                       std::optional<double> host_scale, const std::map<std::string, double>& kind_factors,
                       const std::vector<std::string>& timed_kinds, double log_sd,
                       const std::vector<RecordTuple>& records) {
             auto calibration = std::make_shared<Calibration>();
             calibration->name = std::move(name);
             calibration->device = std::move(device);
             calibration->partition = std::move(partition);
             calibration->runtime = std::move(runtime);
             calibration->precision = std::move(precision);
             calibration->input_on = std::move(input_on);
             calibration->predictor = std::move(predictor);
             calibration->scale = scale;
             calibration->host_scale = host_scale;
             for (const auto& [kind, factor] : kind_factors) calibration->kind_factors[kind_index(kind)] = factor;
             for (const std::string& kind : timed_kinds) calibration->timed_kinds[kind_index(kind)] = true;
             calibration->log_sd = log_sd;
             for (const auto& [hash, batch, latency_s, spread] : records) {
               calibration->records.push_back({parse_hash(hash), batch, latency_s, spread});
             }
             check_calibration(*calibration);
             return calibration;
           }),
           py::kw_only(), py::arg("name"), py::arg("device"), py::arg("partition"), py::arg("runtime"),
           py::arg("precision"), py::arg("input_on"), py::arg("predictor"), py::arg("scale"), py::arg("host_scale"),
           py::arg("kind_factors"), py::arg("timed_kinds"), py::arg("log_sd"), py::arg("records"));
  module.def("join_host_s", py::vectorize(join_host_s), py::arg("device_s"), py::arg("host_s"),
             "The time of calls whose kernels and launches run side by side.");
}

}  // namespace latpred
