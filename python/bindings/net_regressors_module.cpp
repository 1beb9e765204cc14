// Regressors of whole plain nets after Mendoza and Wang, and ours beside them. Arrays in, arrays out.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <vector>

#include "latpred/error.h"
#include "latpred/text.h"
#include "named_arrays_module.h"
#include "predictors_module.h"
#include "training/dense_trainer.h"
#include "training/flat_line.h"

namespace py = pybind11;

namespace latpred {
namespace {

// The arrays of nets, which the caller's Python objects keep. What Python sees: one object for all calls.
struct NetArrays {
  Numbers attributes;
  Integers lengths, positions;
  std::optional<Numbers> base_s, target_s;

  NetArrays(Numbers the_attributes, Integers the_lengths, Integers the_positions, std::optional<Numbers> the_base_s,
            std::optional<Numbers> the_target_s)
      : attributes(std::move(the_attributes)),
        lengths(std::move(the_lengths)),
        positions(std::move(the_positions)),
        base_s(std::move(the_base_s)),
        target_s(std::move(the_target_s)) {
    if (attributes.ndim() == 3 && attributes.shape(2) == kNodeAttributes) return;
    throw InvalidArgumentError(
        concat("attributes must be an array [graphs, nodes, ", kNodeAttributes, "], got ",
               shape_text(std::vector<std::int64_t>(attributes.shape(), attributes.shape() + attributes.ndim()))));
  }

  [[nodiscard]] NetTable table() const {
    const auto numbers = [](const std::optional<Numbers>& array) {
      return array ? std::span<const double>(array->data(), static_cast<std::size_t>(array->size()))
                   : std::span<const double>();
    };
    return {.tokens = {.attributes = numbers(attributes),
                       .lengths = {lengths.data(), static_cast<std::size_t>(lengths.size())},
                       .target_s = numbers(target_s),
                       .num_graphs = attributes.shape(0),
                       .num_nodes = attributes.shape(1)},
            .positions = {positions.data(), static_cast<std::size_t>(positions.size())},
            .base_s = numbers(base_s)};
  }
};

template <typename Predictor>
py::array_t<double> predict_nets(const Predictor& predictor, const NetArrays& nets) {
  const NetTable table = nets.table();
  const std::vector<double> seconds = [&] {
    const py::gil_scoped_release release;
    return predictor.predict(table);
  }();
  return py::array_t<double>(static_cast<py::ssize_t>(seconds.size()), seconds.data());
}

double fit_epoch_of_nets(DenseTrainer& trainer, const NetArrays& nets) {
  const NetTable table = nets.table();
  const py::gil_scoped_release release;
  return trainer.fit_epoch(table);
}

FlatLine fit_line(const NetArrays& nets, std::int64_t most_nodes) {
  const NetTable table = nets.table();
  const py::gil_scoped_release release;
  return FlatLine(table, most_nodes);
}

}  // namespace

void bind_net_regressors(py::module_& module) {
  using Config = DenseConfig;
  py::class_<NetArrays>(module, "NetArrays", "Plain nets as arrays: G nets of at most N nodes.")
      .def(py::init<Numbers, Integers, Integers, std::optional<Numbers>, std::optional<Numbers>>(),
           py::arg("attributes"), py::arg("lengths"), py::arg("positions"), py::arg("base_s") = py::none(),
           py::arg("target_s") = py::none(),
           "attributes [G, N, 3]: operation (0 input, 1 dense, 2 convolution), weight count, units; lengths [G]; "
           "positions [G]: how often a call uses each weight; base_s [G, N]: seconds of each layer by a law; target_s "
           "[G].");
  py::class_<Config>(module, "DenseConfig", "How a dense network over plain nets looks and is trained.")
      .def(py::init<>())
      .def_readwrite("name", &Config::name)
      .def_readwrite("rows", &Config::rows, "'flat': a net is a row; 'layers': each layer is, and their times add up")
      .def_readwrite("most_nodes", &Config::most_nodes)
      .def_readwrite("hidden_layers", &Config::hidden_layers)
      .def_readwrite("width", &Config::width)
      .def_readwrite("loss", &Config::loss)
      .def_readwrite("huber_delta", &Config::huber_delta)
      .def_readwrite("schedule", &Config::schedule)
      .def_readwrite("learning_rate", &Config::learning_rate)
      .def_readwrite("batch_nets", &Config::batch_nets)
      .def_readwrite("epochs", &Config::epochs);
  module.def("dense_config", &dense_config, py::arg("name"), "A copy of the recipe of that name: 'paper' or 'ours'.",
             py::return_value_policy::copy);
  py::class_<DenseRegressor>(module, "DenseRegressor", "A trained dense network over plain nets.")
      .def(py::init([](const Config& config, const py::dict& arrays) {
             return DenseRegressor(config, from_python(arrays));
           }),
           py::arg("config"), py::arg("arrays"))
      .def("predict", &predict_nets<DenseRegressor>, py::arg("nets"), "float64 [G] seconds")
      .def_property_readonly("num_parameters", &DenseRegressor::num_parameters);
  using Trainer = DenseTrainer;
  py::class_<Trainer>(module, "DenseTrainer", "Trains a dense network epoch by epoch, equal for equal seeds.")
      .def(py::init<const Config&, std::uint64_t>(), py::arg("config"), py::arg("seed"))
      .def("fit_epoch", &fit_epoch_of_nets, py::arg("nets"), "One pass over all nets; the mean loss.")
      .def("predict", &predict_nets<Trainer>, py::arg("nets"), "float64 [G] seconds")
      .def("arrays", [](const Trainer& trainer) { return to_python(trainer.arrays()); })
      .def("state", [](const Trainer& trainer) { return to_python(trainer.state()); })
      .def(
          "load_state", [](Trainer& trainer, const py::dict& state) { trainer.load_state(from_python(state)); },
          py::arg("state"))
      .def_property_readonly("epochs_done", &Trainer::epochs_done)
      .def_property_readonly("num_parameters", &Trainer::num_parameters);
  py::class_<FlatLine>(module, "FlatLine", "A straight line through flattened nets, of the least coefficients.")
      .def(py::init(&fit_line), py::arg("nets"), py::arg("most_nodes"), "Fits.")
      .def(py::init([](const py::dict& arrays, std::int64_t most_nodes) {
             return FlatLine(from_python(arrays), most_nodes);
           }),
           py::arg("arrays"), py::arg("most_nodes"))
      .def("predict", &predict_nets<FlatLine>, py::arg("nets"), "float64 [G] seconds")
      .def("arrays", [](const FlatLine& line) { return to_python(line.arrays()); });
}

}  // namespace latpred
