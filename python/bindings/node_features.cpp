#include "latpred/node_features.h"

#include <pybind11/numpy.h>

#include <algorithm>

#include "bindings.h"

namespace py = pybind11;

namespace latpred {
namespace {

template <typename Value>
py::array_t<Value> table(const std::vector<Value>& values, std::size_t rows) {
  const std::size_t columns = rows == 0 ? 0 : values.size() / rows;
  return py::array_t<Value>({rows, columns}, values.data());
}

}  // namespace

void bind_node_features(py::module_& module) {
  py::class_<GraphColumn>(module, "GraphColumn", "A number of a node or of a graph.")
      .def_readonly("name", &GraphColumn::name)
      .def_readonly("unit", &GraphColumn::unit)
      .def_readonly("description", &GraphColumn::description);
  py::class_<NodeFeatureSet>(module, "NodeFeatureSet", "What graph neural networks read, by the recipe of a paper.")
      .def_readonly("name", &NodeFeatureSet::name)
      .def_readonly("description", &NodeFeatureSet::description)
      .def_readonly("node_columns", &NodeFeatureSet::node_columns)
      .def_readonly("graph_columns", &NodeFeatureSet::graph_columns);
  py::class_<NodeFeatures>(module, "NodeFeatures", "A graph as plain arrays.")
      .def_property_readonly(
          "set", [](const NodeFeatures& features) { return features.set; }, py::return_value_policy::reference)
      .def_property_readonly(
          "nodes", [](const NodeFeatures& features) { return table(features.nodes, features.operators.size()); },
          "float64 [N, F]: set.node_columns")
      .def_property_readonly(
          "operators",
          [](const NodeFeatures& features) {
            return py::array_t<std::int64_t>(static_cast<py::ssize_t>(features.operators.size()),
                                             features.operators.data());
          },
          "int64 [N]: places in operators()")
      .def_property_readonly(
          "edges", [](const NodeFeatures& features) { return table(features.edges, 2); },
          "int64 [2, E]: producers and consumers, each pair once")
      .def_property_readonly(
          "graph",
          [](const NodeFeatures& features) {
            return py::array_t<double>(static_cast<py::ssize_t>(features.graph.size()), features.graph.data());
          },
          "float64 [S]: set.graph_columns")
      .def(
          "adjacency",
          [](const NodeFeatures& features) {
            const auto num_nodes = static_cast<py::ssize_t>(features.operators.size());
            py::array_t<std::uint8_t> matrix({num_nodes, num_nodes});
            std::fill_n(matrix.mutable_data(), matrix.size(), std::uint8_t{0});
            const std::size_t num_edges = features.edges.size() / 2;
            for (std::size_t e = 0; e < num_edges; ++e) {
              matrix.mutable_at(features.edges[e], features.edges[num_edges + e]) = 1;
            }
            return matrix;
          },
          "uint8 [N, N]: 1 where the row's node gives what the column's node reads")
      .def("__repr__", [](const NodeFeatures& features) {
        return concat("<NodeFeatures ", features.set->name, ": ", features.operators.size(), " nodes x ",
                      features.set->node_columns.size(), ", ", features.edges.size() / 2, " edges, ",
                      features.graph.size(), " of the graph>");
      });
  module.def("node_features", &node_features, py::arg("graph"), py::arg("set"),
             "Nodes, edges and static features of a graph, as a graph neural network reads them.");
}

}  // namespace latpred
