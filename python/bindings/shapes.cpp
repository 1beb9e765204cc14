#include "latpred/shapes.h"

#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "bindings.h"

namespace py = pybind11;

namespace latpred {
namespace {

// latpred.inputs.InputSize.
using PythonInput = std::tuple<Shape, std::optional<std::string>, std::optional<std::int64_t>>;

InputSize to_input_size(const PythonInput& input) {
  const auto& [sizes, dtype, batch_position] = input;
  InputSize size{.sizes = sizes, .batch_position = batch_position};
  if (dtype) size.dtype = dtype_from_name(*dtype);
  return size;
}

}  // namespace

void bind_shapes(py::module_& module) {
  module.attr("NO_BATCH") = kNoBatch;
  module.def(
      "resolve",
      [](std::shared_ptr<Program> program, std::int64_t batch, const std::optional<PythonInput>& only,
         const std::map<std::string, PythonInput>& by_name) {
        InputRequest request{.batch = batch};
        if (only) request.only = to_input_size(*only);
        for (const auto& [name, input] : by_name) request.by_name[name] = to_input_size(input);
        return std::make_shared<Graph>(resolve(std::move(program), request));
      },
      py::arg("program").none(false), py::arg("batch") = 1, py::arg("only") = py::none(),
      py::arg("by_name") = std::map<std::string, PythonInput>{}, py::call_guard<py::gil_scoped_release>(),
      "The graph that a program is at a batch and at input sizes: `only` for the one input, `by_name` for several, "
      "each (sizes without the batch, dtype or None, position of the batch, NO_BATCH of one without, or None).");
  module.def("inputs_with_steps_first", &inputs_with_steps_first, py::arg("program"),
             "Names of inputs that a recurrent layer reads with the steps first: their batch stands second.");
  module.def(
      "with_batch",
      [](const Graph& graph, std::int64_t batch) { return std::make_shared<Graph>(with_batch(graph, batch)); },
      py::arg("graph"), py::arg("batch"), py::call_guard<py::gil_scoped_release>());
}

}  // namespace latpred
