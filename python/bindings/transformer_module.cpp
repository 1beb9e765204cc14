// Khan's transformer: configs, training epoch by epoch, predictions, attention. Arrays in, arrays out.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <vector>

#include "latpred/error.h"
#include "latpred/text.h"
#include "named_arrays_module.h"
#include "predictors_module.h"
#include "training/transformer_trainer.h"

namespace py = pybind11;

namespace latpred {
namespace {

// Looks at the arrays, which the caller keeps.
TokenTable table_of(const Numbers& attributes, const Integers& lengths) {
  if (attributes.ndim() != 3 || attributes.shape(2) != kNodeAttributes) {
    throw InvalidArgumentError(
        concat("attributes must be an array [graphs, nodes, ", kNodeAttributes, "], got ",
               shape_text(std::vector<std::int64_t>(attributes.shape(), attributes.shape() + attributes.ndim()))));
  }
  if (lengths.ndim() != 1) {
    throw InvalidArgumentError(concat("lengths must be an array [graphs], got ", lengths.ndim(), " axes"));
  }
  return {.attributes = {attributes.data(), static_cast<std::size_t>(attributes.size())},
          .lengths = {lengths.data(), static_cast<std::size_t>(lengths.size())},
          .num_graphs = attributes.shape(0),
          .num_nodes = attributes.shape(1)};
}
TokenTable table_of(const Numbers& attributes, const Integers& lengths, const Numbers& target_s) {
  TokenTable table = table_of(attributes, lengths);
  if (target_s.ndim() != 1) {
    throw InvalidArgumentError(concat("target_s must be an array [graphs], got ", target_s.ndim(), " axes"));
  }
  table.target_s = {target_s.data(), static_cast<std::size_t>(target_s.size())};
  return table;
}

template <typename Network>
py::array_t<double> predict_tokens(const Network& network, const Numbers& attributes, const Integers& lengths) {
  const TokenTable table = table_of(attributes, lengths);
  const std::vector<double> seconds = [&] {
    const py::gil_scoped_release release;
    return network.predict(table);
  }();
  return py::array_t<double>(static_cast<py::ssize_t>(seconds.size()), seconds.data());
}

template <typename Network>
py::array_t<float> attention_of_tokens(const Network& network, const Numbers& attributes, const Integers& lengths) {
  const TokenTable table = table_of(attributes, lengths);
  const std::vector<float> shares = [&] {
    const py::gil_scoped_release release;
    return network.attention(table);
  }();
  const TransformerConfig& config = network.config();
  return py::array_t<float>({table.num_graphs, config.blocks, config.heads, table.num_nodes, table.num_nodes},
                            shares.data());
}

double fit_epoch_of_tokens(TransformerTrainer& trainer, const Numbers& attributes, const Integers& lengths,
                           const Numbers& target_s) {
  const TokenTable table = table_of(attributes, lengths, target_s);
  const py::gil_scoped_release release;
  return trainer.fit_epoch(table);
}

double loss_of_tokens(const TransformerTrainer& trainer, const Numbers& attributes, const Integers& lengths,
                      const Numbers& target_s) {
  const TokenTable table = table_of(attributes, lengths, target_s);
  const py::gil_scoped_release release;
  return trainer.loss(table);
}

void bind_config(py::module_& module) {
  using Config = TransformerConfig;
  py::class_<Config>(module, "TransformerConfig", "How a transformer over nodes looks and is trained.")
      .def(py::init<>())
      .def_readwrite("name", &Config::name)
      .def_readwrite("width", &Config::width)
      .def_readwrite("heads", &Config::heads)
      .def_readwrite("feed_forward_width", &Config::feed_forward_width)
      .def_readwrite("blocks", &Config::blocks)
      .def_readwrite("dropout", &Config::dropout)
      .def_readwrite("positions", &Config::positions, "'learned' or 'sinusoidal'")
      .def_readwrite("most_nodes", &Config::most_nodes, "graphs with more are refused; 0: no limit")
      .def_readwrite("scale", &Config::scale, "'standard' or 'log'")
      .def_readwrite("loss", &Config::loss, "'mse', 'l1' or 'huber', of the scaled target")
      .def_readwrite("huber_delta", &Config::huber_delta)
      .def_readwrite("schedule", &Config::schedule, "'constant' or 'one_cycle'")
      .def_readwrite("learning_rate", &Config::learning_rate)
      .def_readwrite("batch_graphs", &Config::batch_graphs)
      .def_readwrite("epochs", &Config::epochs);
  module.def("transformer_config", &transformer_config, py::arg("name"), "A copy of the recipe of that name.",
             py::return_value_policy::copy);
}

}  // namespace

void bind_transformer(py::module_& module) {
  bind_config(module);
  py::class_<TransformerRegressor>(module, "TransformerRegressor", "A trained transformer over nodes.")
      .def(py::init([](const TransformerConfig& config, const py::dict& arrays) {
             return TransformerRegressor(config, from_python(arrays));
           }),
           py::arg("config"), py::arg("arrays"), "arrays: what a trainer's arrays() gave.")
      .def("predict", &predict_tokens<TransformerRegressor>, py::arg("attributes"), py::arg("lengths"),
           "float64 [G] seconds of attributes [G, N, 3] (operation, weight count, output width), lengths [G].")
      .def("attention", &attention_of_tokens<TransformerRegressor>, py::arg("attributes"), py::arg("lengths"),
           "float32 [G, blocks, heads, N, N]: how much each node attends to each other; 0 where either is padding.")
      .def_property_readonly("config", &TransformerRegressor::config, py::return_value_policy::copy)
      .def_property_readonly("num_parameters", &TransformerRegressor::num_parameters);
  using Trainer = TransformerTrainer;
  py::class_<Trainer>(module, "TransformerTrainer", "Trains a transformer epoch by epoch, equal for equal seeds.")
      .def(py::init<const TransformerConfig&, std::uint64_t, int>(), py::arg("config"), py::arg("seed"),
           py::arg("threads") = 1, "Any number of threads gives the same numbers.")
      .def("fit_epoch", &fit_epoch_of_tokens, py::arg("attributes"), py::arg("lengths"), py::arg("target_s"),
           "One pass over all graphs; the mean loss of the scaled target, dropout on.")
      .def("loss", &loss_of_tokens, py::arg("attributes"), py::arg("lengths"), py::arg("target_s"),
           "The mean loss without dropout, for early stopping.")
      .def("predict", &predict_tokens<Trainer>, py::arg("attributes"), py::arg("lengths"), "float64 [G] seconds")
      .def("attention", &attention_of_tokens<Trainer>, py::arg("attributes"), py::arg("lengths"),
           "float32 [G, blocks, heads, N, N]")
      .def(
          "arrays", [](const Trainer& trainer) { return to_python(trainer.arrays()); },
          "What predicts, as float64 arrays by name: for a checkpoint and TransformerRegressor.")
      .def(
          "state", [](const Trainer& trainer) { return to_python(trainer.state()); },
          "All that training goes on from, as float64 arrays by name.")
      .def(
          "load_state", [](Trainer& trainer, const py::dict& state) { trainer.load_state(from_python(state)); },
          py::arg("state"),
          "Takes up a training of the same config and seed; what follows equals a training that never stopped.")
      .def_property_readonly("config", &Trainer::config, py::return_value_policy::copy)
      .def_property_readonly("seed", &Trainer::seed)
      .def_property_readonly("epochs_done", &Trainer::epochs_done)
      .def_property_readonly("num_parameters", &Trainer::num_parameters);
}

}  // namespace latpred
