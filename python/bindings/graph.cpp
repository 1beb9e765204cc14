#include "latpred/graph.h"

#include <pybind11/numpy.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "bindings.h"
#include "latpred/graph_text.h"
#include "latpred/operators.h"
#include "latpred/shapes.h"
#include "latpred/text.h"

namespace py = pybind11;

namespace latpred {
namespace {

// Rows of a graph as Python sees them: they keep the graph alive and read from it.
struct TensorRow {
  std::shared_ptr<const Graph> graph;
  TensorId id;
  const Tensor& tensor() const { return graph->tensors[static_cast<std::size_t>(id)]; }
};

struct NodeRow {
  std::shared_ptr<const Graph> graph;
  NodeId id;
  const Node& node() const { return graph->nodes[static_cast<std::size_t>(id)]; }
};

std::string_view tensor_kind_name(TensorKind kind) {
  static constexpr std::string_view kNames[] = {"activation", "input", "parameter", "statistic", "constant"};
  return kNames[static_cast<std::size_t>(kind)];
}

using ShapeTuple = py::typing::Tuple<py::int_, py::ellipsis>;

ShapeTuple shape_tuple(const Shape& shape) { return ShapeTuple(py::tuple(py::cast(shape))); }

using TensorRows = py::typing::List<TensorRow>;
using OptionalTensorRows = py::typing::List<py::typing::Optional<TensorRow>>;

template <typename List>
List tensor_rows(const std::shared_ptr<Graph>& graph, const std::vector<TensorId>& ids) {
  List rows;
  for (const TensorId id : ids) rows.append(id == kAbsent ? py::object(py::none()) : py::cast(TensorRow{graph, id}));
  return rows;
}

py::object attribute_value(const AttributeValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return python_text(*text);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) return python_texts(*texts);
  return py::cast(value);
}

std::string hash_text(const Graph& graph) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(graph.hash()));
  return text;
}

py::array_t<NodeId> adjacency_array(const Graph& graph) {
  const auto edges = graph.adjacency();
  py::array_t<NodeId> array({static_cast<py::ssize_t>(edges.size()), static_cast<py::ssize_t>(2)});
  auto view = array.mutable_unchecked<2>();
  for (py::ssize_t i = 0; i < view.shape(0); ++i) {
    view(i, 0) = edges[static_cast<std::size_t>(i)].first;
    view(i, 1) = edges[static_cast<std::size_t>(i)].second;
  }
  return array;
}

std::map<std::string, std::int64_t> operator_histogram(const Graph& graph) {
  std::map<std::string, std::int64_t> counts;
  for (const Node& node : graph.nodes) ++counts[std::string(operator_row(node.op).name)];
  return counts;
}

// A method that stands in a Python module, so that importing latpred does not load it.
py::object python_function(const char* module, const char* function) {
  return py::module_::import(module).attr(function);
}

void bind_tensor(py::module_& module) {
  py::class_<TensorRow>(module, "Tensor", "A tensor of a graph.")
      .def_property_readonly("id", [](const TensorRow& row) { return row.id; })
      .def_property_readonly("name", [](const TensorRow& row) { return python_text(row.tensor().name); })
      .def_property_readonly("shape", [](const TensorRow& row) { return shape_tuple(row.tensor().shape); })
      .def_property_readonly("dtype", [](const TensorRow& row) { return dtype_row(row.tensor().dtype).name; })
      .def_property_readonly(
          "dtype_id", [](const TensorRow& row) { return static_cast<int>(row.tensor().dtype); },
          "ONNX's number of the type.")
      .def_property_readonly(
          "kind", [](const TensorRow& row) { return tensor_kind_name(row.tensor().kind); },
          "activation, input, parameter, statistic or constant")
      .def_property_readonly(
          "value",
          [](const TensorRow& row) -> py::object {
            const auto& value = row.tensor().value;
            if (!value) return py::none();
            return value->reals.empty() ? py::cast(value->integers) : py::cast(value->reals);
          },
          "The content of a small constant, row-major; None where it is unknown.")
      .def_property_readonly("num_elements", [](const TensorRow& row) { return row.tensor().num_elements(); })
      .def_property_readonly("size_bytes", [](const TensorRow& row) { return row.tensor().size_bytes(); })
      .def("__repr__", [](const TensorRow& row) {
        return python_text("<Tensor '" + row.tensor().name + "' " + std::string(dtype_row(row.tensor().dtype).name) +
                           " " + shape_text(row.tensor().shape) + ">");
      });
}

void bind_node(py::module_& module) {
  py::class_<NodeRow>(module, "Node", "An operator of a graph. Costs are those of one execution.")
      .def_property_readonly("id", [](const NodeRow& row) { return row.id; })
      .def_property_readonly("name", [](const NodeRow& row) { return python_text(row.node().name); })
      .def_property_readonly("operator", [](const NodeRow& row) { return operator_row(row.node().op).name; })
      .def_property_readonly(
          "source_operator", [](const NodeRow& row) { return python_text(row.node().source_operator); },
          "The operator as the file names it.")
      .def_property_readonly("family", [](const NodeRow& row) { return operator_row(row.node().op).family; })
      .def_property_readonly(
          "inputs",
          [](const NodeRow& row) {
            return tensor_rows<OptionalTensorRows>(std::const_pointer_cast<Graph>(row.graph), row.node().inputs);
          },
          "Tensors; None where an optional input is left out.")
      .def_property_readonly("outputs",
                             [](const NodeRow& row) {
                               return tensor_rows<OptionalTensorRows>(std::const_pointer_cast<Graph>(row.graph),
                                                                      row.node().outputs);
                             })
      .def_property_readonly("attributes",
                             [](const NodeRow& row) {
                               py::typing::Dict<py::str, py::object> attributes;
                               for (const auto& [name, value] : row.node().attributes.items()) {
                                 attributes[python_text(name)] = attribute_value(value);
                               }
                               return attributes;
                             })
      .def_property_readonly("macs", [](const NodeRow& row) { return row.node().cost.macs; })
      .def_property_readonly(
          "flops", [](const NodeRow& row) { return row.node().cost.flops; }, "2 x macs + element-wise operations")
      .def_property_readonly("bytes_in", [](const NodeRow& row) { return row.node().cost.bytes_in; })
      .def_property_readonly("bytes_out", [](const NodeRow& row) { return row.node().cost.bytes_out; })
      .def_property_readonly("weight_bytes", [](const NodeRow& row) { return row.node().cost.weight_bytes; })
      .def_property_readonly(
          "repeat", [](const NodeRow& row) { return row.node().repeat; }, "How often a loop executes it.")
      .def("__repr__", [](const NodeRow& row) {
        return python_text("<Node '" + row.node().name + "' " + std::string(operator_row(row.node().op).name) + ">");
      });
}

}  // namespace

void bind_graph(py::module_& module) {
  bind_tensor(module);
  bind_node(module);
  using Pointer = std::shared_ptr<Graph>;
  py::class_<Graph, Pointer>(module, "Graph",
                             "The user's network with every shape a number, in execution order. Read-only.")
      .def_property_readonly("nodes",
                             [](const Pointer& graph) {
                               py::typing::List<NodeRow> rows;
                               const auto count = static_cast<NodeId>(graph->nodes.size());
                               for (NodeId i = 0; i < count; ++i) rows.append(NodeRow{graph, i});
                               return rows;
                             })
      .def_property_readonly("tensors",
                             [](const Pointer& graph) {
                               TensorRows rows;
                               const auto count = static_cast<TensorId>(graph->tensors.size());
                               for (TensorId i = 0; i < count; ++i) rows.append(TensorRow{graph, i});
                               return rows;
                             })
      .def_property_readonly("inputs",
                             [](const Pointer& graph) { return tensor_rows<TensorRows>(graph, graph->inputs); })
      .def_property_readonly("outputs",
                             [](const Pointer& graph) { return tensor_rows<TensorRows>(graph, graph->outputs); })
      .def_readonly("batch", &Graph::batch)
      .def_property_readonly("warnings", [](const Graph& graph) { return python_texts(graph.warnings); })
      .def_property_readonly("source",
                             [](const Graph& graph) { return graph.program ? graph.program->source : SourceInfo{}; })
      .def_property_readonly("channels_last", &Graph::channels_last,
                             "Whether PyTorch runs it with the channels of images innermost: its filters lie so.")
      .def_property_readonly("macs", &Graph::macs, "Multiply-accumulates of one call on the whole batch.")
      .def_property_readonly("flops", &Graph::flops, "2 x macs + element-wise operations.")
      .def_property_readonly("num_parameters", &Graph::num_parameters)
      .def_property_readonly("num_statistics", &Graph::num_statistics,
                             "Elements of running means and variances: stored, not trained.")
      .def_property_readonly("weight_bytes", &Graph::weight_bytes)
      .def_property_readonly("operators", &operator_histogram, "Operator name -> how many nodes.")
      .def_property_readonly("hash", &hash_text,
                             "Of structure, operators, attributes and shapes (batch included); 16 hex digits.")
      .def("adjacency", &adjacency_array, "Producer and consumer of every data edge: int32 [E, 2].")
      .def(
          "with_batch",
          [](const Pointer& graph, std::int64_t batch) {
            return std::make_shared<Graph>(with_batch(*graph, checked_batch(batch)));
          },
          py::arg("batch"), py::call_guard<py::gil_scoped_release>(), "The same network at another batch.")
      .def(
          "with_channels_last",
          [](const Pointer& graph) { return std::make_shared<Graph>(with_channels_last(*graph)); },
          "The same network as model.to(memory_format=torch.channels_last) makes PyTorch run it.")
      .def(
          "to_onnx",
          [](const py::object& self, const py::object& path) {
            python_function("latpred.export_onnx", "to_onnx")(self, path);
          },
          py::arg("path"), "Writes an ONNX file without weights, for viewers and other tools. Needs latpred[onnx].")
      .def(
          "to_pandas", [](const py::object& self) { return python_function("latpred.graph", "to_pandas")(self); },
          "One row for each node. Needs latpred[data].")
      .def("__len__", [](const Graph& graph) { return graph.nodes.size(); })
      .def("__str__", [](const Graph& graph) { return python_text(to_text(graph)); })
      .def("__repr__", [](const py::object& self) { return py::str(python_function("latpred.graph", "line")(self)); })
      .def("_repr_html_",
           [](const py::object& self) { return py::str(python_function("latpred.graph", "html")(self)); });
}

}  // namespace latpred
