#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <chrono>

#include "latpred/error.h"
#include "latpred/text.h"
#include "predictors_module.h"
#include "workloads/plain_net_meter.h"

namespace py = pybind11;

namespace latpred {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{100};  // for an interrupt by the user

using Widths = std::vector<std::vector<std::int64_t>>;

std::vector<PlainNetSizes> nets_of(const Widths& widths, const std::vector<std::int64_t>& image_sizes) {
  if (widths.size() != image_sizes.size()) {
    throw InvalidArgumentError(concat("widths holds ", widths.size(), " nets and image_sizes ", image_sizes.size()));
  }
  std::vector<PlainNetSizes> nets;
  for (std::size_t i = 0; i < widths.size(); ++i) nets.push_back({widths[i], image_sizes[i]});
  return nets;
}

// To be called without the interpreter's lock.
class Interrupts {
 public:
  void look() {
    const auto now = std::chrono::steady_clock::now();
    if (now - looked_ < kBetweenLooks) return;
    looked_ = now;
    const py::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }

 private:
  std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now();
};

std::vector<Measurement> measure_nets(PlainNetMeter& meter, const Widths& widths,
                                      const std::vector<std::int64_t>& image_sizes, std::int64_t batch,
                                      const Protocol& protocol, int core) {
  const std::vector<PlainNetSizes> nets = nets_of(widths, image_sizes);
  Interrupts interrupts;
  const py::gil_scoped_release release;
  return meter.measure(nets, batch, protocol, core, [&interrupts] { interrupts.look(); });
}

}  // namespace

void bind_plain_net(py::module_& module) {
  py::class_<PlainNetMeter>(module, "PlainNetMeter", "Measures plain nets with weights from one shared pool.")
      .def(py::init<std::int64_t>(), py::arg("pool_bytes") = PlainNetMeter::kDefaultPoolBytes)
      .def("measure", &measure_nets, py::arg("widths"), py::arg("image_sizes"), py::kw_only(), py::arg("batch") = 1,
           py::arg("protocol"), py::arg("core") = -1,
           "One Measurement for each net: its widths, and the size of its images (0: dense layers). A single thread "
           "stays on `core` meanwhile; -1: where it is.")
      .def_property_readonly("pool_bytes", &PlainNetMeter::pool_bytes);
}

}  // namespace latpred
