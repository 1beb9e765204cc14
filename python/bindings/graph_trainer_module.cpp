// Graph neural networks: configs, training epoch by epoch, answers, attention. Arrays by name in and out.
#include <pybind11/stl.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "latpred/error.h"
#include "latpred/text.h"
#include "named_arrays_module.h"
#include "predictors_module.h"
#include "training/graph_trainer.h"

namespace py = pybind11;

namespace latpred {
namespace {

// Views of a dict's arrays, which stay alive with it.
class HeldGraphs {
 public:
  HeldGraphs(const py::dict& arrays, const GraphSizes& sizes) : arrays_(arrays) {
    table_.num_node_columns = sizes.node_columns;
    table_.num_graph_columns = sizes.graph_columns;
    table_.num_operators = sizes.operators;
    table_.num_targets = sizes.targets;
    table_.num_types = sizes.types;
    table_.nodes = view<double>("nodes", sizes.node_columns);
    table_.operators = view<std::int64_t>("operators");
    table_.edges = view<std::int64_t>("edges");
    table_.first_node = view<std::int64_t>("first_node");
    table_.columns = view<double>("columns", sizes.graph_columns);
    table_.fusible = view<std::int64_t>("fusible");
    table_.targets = view<double>("targets", sizes.targets);
    table_.types = view<std::int64_t>("types");
    table_.bases = view<double>("bases", sizes.targets);
    table_.first_term = view<std::int64_t>("first_term");
    table_.counts = view<double>("counts");
    table_.sums = view<double>("sums", sizes.targets);
    if (arrays.contains("edges") && arrays["edges"].cast<Integers>().shape(0) != 2) {
      throw InvalidArgumentError("edges must be an array [2, edges]");
    }
    for (const auto& item : arrays) {
      const auto name = item.first.cast<std::string>();
      if (std::ranges::find(read_, name) == read_.end()) {
        throw InvalidArgumentError(unknown_name_message("array of graphs", name, read_));
      }
    }
  }

  [[nodiscard]] const GraphTable& table() const { return table_; }

 private:
  // Empty where the dict has no such array; `columns`: what its rows must be wide.
  template <typename Value>
  std::span<const Value> view(const char* name, std::int64_t columns = 0) {
    read_.emplace_back(name);
    if (!arrays_.contains(name)) return {};
    const auto array = arrays_[name].cast<py::array_t<Value, py::array::c_style | py::array::forcecast>>();
    if (columns > 0 && (array.ndim() != 2 || array.shape(1) != columns)) {
      throw InvalidArgumentError(
          concat(name, " must be an array [rows, ", columns, "], got ",
                 shape_text(std::vector<std::int64_t>(array.shape(), array.shape() + array.ndim()))));
    }
    held_.push_back(array);
    return {array.data(), static_cast<std::size_t>(array.size())};
  }

  py::dict arrays_;
  std::vector<py::object> held_;
  std::vector<std::string> read_;  // every name that there is
  GraphTable table_;
};

template <typename Network>
py::dict predict_graphs(const Network& network, const py::dict& graphs) {
  const HeldGraphs held(graphs, network.sizes());
  const GraphAnswers answers = [&] {
    const py::gil_scoped_release release;
    return network.predict(held.table());
  }();
  py::dict result;
  const auto add = [&](const char* name, const std::vector<double>& values, std::int64_t columns) {
    py::array_t<double> array(static_cast<py::ssize_t>(values.size()), values.data());
    result[name] = columns == 0
                       ? py::object(array)
                       : py::object(array.reshape({static_cast<py::ssize_t>(-1), static_cast<py::ssize_t>(columns)}));
  };
  if (network.config().is_of_edges()) {
    add("fusible", answers.fusible, 0);
  } else {
    add("targets", answers.targets, network.sizes().targets);
    if (network.sizes().types > 0) add("types", answers.types, network.sizes().types);
  }
  return result;
}

template <typename Network>
py::tuple attention_of_graphs(const Network& network, const py::dict& graphs) {
  const HeldGraphs held(graphs, network.sizes());
  const GraphAttention found = [&] {
    const py::gil_scoped_release release;
    return network.attention(held.table());
  }();
  const std::size_t num_edges = found.edges.size() / 2;
  py::list shares;
  for (const auto& layer : found.shares) {
    shares.append(py::array_t<float>({num_edges, layer.size() / num_edges}, layer.data()));
  }
  return py::make_tuple(py::array_t<std::int64_t>({std::size_t{2}, num_edges}, found.edges.data()), shares);
}

double fit_epoch_of_graphs(GraphTrainer& trainer, const py::dict& graphs) {
  const HeldGraphs held(graphs, trainer.sizes());
  const py::gil_scoped_release release;
  return trainer.fit_epoch(held.table());
}

double loss_of_graphs(const GraphTrainer& trainer, const py::dict& graphs) {
  const HeldGraphs held(graphs, trainer.sizes());
  const py::gil_scoped_release release;
  return trainer.loss(held.table());
}

py::dict find_learning_rate(const GraphTrainer& trainer, const py::dict& graphs, double lowest, double highest,
                            std::int64_t steps) {
  const HeldGraphs held(graphs, trainer.sizes());
  const LearningRates found = [&] {
    const py::gil_scoped_release release;
    return trainer.find_learning_rate(held.table(), lowest, highest, steps);
  }();
  py::dict result;
  result["rates"] = found.rates;
  result["losses"] = found.losses;
  result["steepest"] = found.steepest;
  return result;
}

void bind_graph_config(py::module_& module) {
  using Config = GraphConfig;
  py::class_<Config>(module, "GraphConfig", "How a graph neural network looks and is trained.")
      .def(py::init<>())
      .def_readwrite("name", &Config::name)
      .def_readwrite("task", &Config::task, "'edges' or 'graphs'")
      .def_readwrite("layer", &Config::layer, "'gat', 'sage', 'gcn' or 'gin'")
      .def_readwrite("layers", &Config::layers)
      .def_readwrite("width", &Config::width)
      .def_readwrite("heads", &Config::heads)
      .def_readwrite("l2_norm", &Config::l2_norm)
      .def_readwrite("size_norm", &Config::size_norm)
      .def_readwrite("undirected", &Config::undirected)
      .def_readwrite("columns", &Config::columns, "'nodes' or 'readout': where columns of graphs join")
      .def_readwrite("readout", &Config::readout, "'sum', 'mean' or 'max'")
      .def_readwrite("dense_layers", &Config::dense_layers)
      .def_readwrite("dense_width", &Config::dense_width)
      .def_readwrite("dropout", &Config::dropout)
      .def_readwrite("input_scale", &Config::input_scale, "'standard' or 'log'")
      .def_readwrite("scale", &Config::scale, "of targets: 'standard', 'log' or 'milliseconds'")
      .def_readwrite("sum_weight", &Config::sum_weight)
      .def_readwrite("loss", &Config::loss, "'mse', 'rmse', 'l1' or 'huber', of scaled targets")
      .def_readwrite("schedule", &Config::schedule, "'constant' or 'one_cycle'")
      .def_readwrite("learning_rate", &Config::learning_rate)
      .def_readwrite("batch_graphs", &Config::batch_graphs)
      .def_readwrite("epochs", &Config::epochs);
  module.def("graph_config", &graph_config, py::arg("name"), "A copy of the recipe of that name.",
             py::return_value_policy::copy);
  module.def("graph_config_names", &graph_config_names);
  py::class_<GraphSizes>(module, "GraphSizes", "How wide a graph neural network's ends are.")
      .def(py::init(
               [](std::int64_t node_columns, std::int64_t graph_columns, std::int64_t operators, std::int64_t targets,
                  std::int64_t types) { return GraphSizes{node_columns, graph_columns, operators, targets, types}; }),
           py::arg("node_columns"), py::arg("graph_columns") = 0, py::arg("operators") = 0, py::arg("targets") = 0,
           py::arg("types") = 0)
      .def_readonly("node_columns", &GraphSizes::node_columns)
      .def_readonly("graph_columns", &GraphSizes::graph_columns)
      .def_readonly("operators", &GraphSizes::operators)
      .def_readonly("targets", &GraphSizes::targets)
      .def_readonly("types", &GraphSizes::types);
}

template <typename Network>
void bind_answers(py::class_<Network>& bound) {
  bound
      .def("predict", &predict_graphs<Network>, py::arg("graphs"),
           "Arrays by name: 'fusible' [E] probabilities, or 'targets' [G, T] and 'types' [G, K] probabilities.")
      .def("attention", &attention_of_graphs<Network>, py::arg("graphs"),
           "Edges [2, e], one from each node to itself included, and for each layer how much targets attend along "
           "them [e, heads]; no layers where the network has no attention.")
      .def_property_readonly("config", &Network::config, py::return_value_policy::copy)
      .def_property_readonly("sizes", &Network::sizes, py::return_value_policy::copy)
      .def_property_readonly("num_parameters", &Network::num_parameters);
}

}  // namespace

void bind_graph_trainer(py::module_& module) {
  bind_graph_config(module);
  py::class_<GraphPredictor> predictor(module, "GraphPredictor", "A trained graph neural network.");
  predictor.def(py::init([](const GraphConfig& config, const GraphSizes& sizes, const py::dict& arrays) {
                  return GraphPredictor(config, sizes, from_python(arrays));
                }),
                py::arg("config"), py::arg("sizes"), py::arg("arrays"), "arrays: what a trainer's arrays() gave.");
  bind_answers(predictor);
  using Trainer = GraphTrainer;
  py::class_<Trainer> trainer(
      module, "GraphTrainer",
      "Trains a graph neural network epoch by epoch, equal for equal seeds. Graphs are arrays by name: nodes [N, F], "
      "operators [N], edges [2, E], first_node [G + 1], columns [G, S]; labels fusible [E], targets [G, T], types [G], "
      "bases [G, T].");
  trainer
      .def(py::init<const GraphConfig&, const GraphSizes&, std::uint64_t>(), py::arg("config"), py::arg("sizes"),
           py::arg("seed"))
      .def("fit_epoch", &fit_epoch_of_graphs, py::arg("graphs"),
           "One pass over all graphs; the mean loss of its batches.")
      .def("loss", &loss_of_graphs, py::arg("graphs"), "The mean loss of batches, nothing dropped.")
      .def("find_learning_rate", &find_learning_rate, py::arg("graphs"), py::arg("lowest") = 1e-7,
           py::arg("highest") = 1.0, py::arg("steps") = 100,
           "Losses while the rate grows, and the rate where they fall fastest; the weights stay as they are.")
      .def(
          "arrays", [](const Trainer& self) { return to_python(self.arrays()); },
          "What predicts, as float64 arrays by name: for a checkpoint and GraphPredictor.")
      .def(
          "state", [](const Trainer& self) { return to_python(self.state()); },
          "All that training goes on from, as float64 arrays by name.")
      .def(
          "load_state", [](Trainer& self, const py::dict& state) { self.load_state(from_python(state)); },
          py::arg("state"), "Takes up a training of the same config, sizes and seed.")
      .def_property_readonly("seed", &Trainer::seed)
      .def_property_readonly("epochs_done", &Trainer::epochs_done);
  bind_answers(trainer);
}

}  // namespace latpred
