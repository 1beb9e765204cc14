#include "latpred/subgraphs.h"

#include <pybind11/numpy.h>

#include "bindings.h"

namespace py = pybind11;

namespace latpred {

void bind_subgraphs(py::module_& module) {
  using Integers = py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>;
  using Flags = py::array_t<bool, py::array::c_style | py::array::forcecast>;
  module.def(
      "extract_subgraphs",
      [](std::int64_t num_nodes, const Integers& edges, const Flags& fusible) {
        if (edges.ndim() != 2 || edges.shape(0) != 2) throw InvalidArgumentError("edges must be an array [2, edges]");
        std::vector<std::pair<NodeId, NodeId>> pairs;
        for (py::ssize_t e = 0; e < edges.shape(1); ++e) {
          pairs.emplace_back(static_cast<NodeId>(edges.at(0, e)), static_cast<NodeId>(edges.at(1, e)));
        }
        const std::vector<bool> flags(fusible.data(), fusible.data() + fusible.size());
        const Subgraphs found = extract_subgraphs(num_nodes, pairs, flags);
        return py::array_t<std::int64_t>(static_cast<py::ssize_t>(found.group.size()), found.group.data());
      },
      py::arg("num_nodes"), py::arg("edges"), py::arg("fusible"),
      "int64 [N]: the group of each node, from which of the edges [2, E] are fusible.");
}

}  // namespace latpred
