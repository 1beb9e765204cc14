#include "latpred/program_builder.h"

#include <utility>
#include <variant>

#include "bindings.h"
#include "latpred/error.h"
#include "latpred/operators.h"
#include "latpred/shapes.h"
#include "latpred/text.h"

namespace py = pybind11;

namespace latpred {
namespace {

using OneOrMore = std::variant<VariableId, std::vector<std::optional<VariableId>>>;

// ProgramBuilder with operators by name and attributes by keyword; checks that a variable is one of its own.
class GraphBuilder {
 public:
  VariableId input(const std::string& name, const Shape& sizes, const std::string& dtype) {
    return own(builder_.input(name, sizes, dtype_from_name(dtype)));
  }

  VariableId parameter(const Shape& shape, const std::string& dtype, const std::string& name) {
    const VariableId id = own(builder_.parameter(shape, dtype_from_name(dtype)));
    if (!name.empty()) variable_names_[static_cast<std::size_t>(id)] = name;
    return id;
  }

  VariableId constant(const std::variant<std::int64_t, std::vector<std::int64_t>>& values) {
    if (const auto* scalar = std::get_if<std::int64_t>(&values)) return own(builder_.constant({*scalar}, {}));
    return own(builder_.constant(std::get<std::vector<std::int64_t>>(values)));
  }

  py::object apply(const std::string& op_name, const OneOrMore& inputs, std::int64_t num_outputs,
                   const std::string& name, const py::KWArgs<py::object>& attributes) {
    if (num_outputs < 1) throw InvalidArgumentError(concat("num_outputs must be >= 1, got ", num_outputs));
    const Operator& op = operator_row(op_name);
    std::vector<VariableId> ids;
    if (const auto* one = std::get_if<VariableId>(&inputs)) {
      ids.push_back(check_known(*one));
    } else {
      for (const auto& id : std::get<1>(inputs)) ids.push_back(id ? check_known(*id) : kAbsent);
    }
    ProgramBuilder::Settings settings;
    for (const auto& [key, value] : attributes) settings.emplace_back(py::cast<std::string>(key), to_value(key, value));
    if (!name.empty()) statement_names_[num_statements_] = name;
    ++num_statements_;
    const auto outputs = builder_.apply_many(op.id, ids, settings, static_cast<std::size_t>(num_outputs));
    for (const VariableId id : outputs) own(id);
    if (outputs.size() == 1) return py::int_(outputs.front());
    return py::tuple(py::cast(outputs));
  }

  void output(VariableId variable) { builder_.output(check_known(variable)); }

  std::shared_ptr<Program> program() const {
    auto program = std::make_shared<Program>(builder_.build());
    for (const auto& [index, name] : statement_names_) program->main.statements[index].name = name;
    for (const auto& [index, name] : variable_names_) program->variables[index].name = name;
    return program;
  }

 private:
  VariableId own(VariableId id) {
    num_variables_ = std::max(num_variables_, id + 1);
    return id;
  }

  VariableId check_known(VariableId id) const {
    if (id >= 0 && id < num_variables_) return id;
    throw InvalidArgumentError(concat("variable ", id, " is not one of this builder's ", num_variables_,
                                      " variables; use what input(), parameter(), constant() or apply() returned"));
  }

  static AttributeValue to_value(py::handle name, py::handle value) {
    try {
      return py::cast<AttributeValue>(value);
    } catch (const py::cast_error&) {
      throw InvalidArgumentError(concat("attribute '", py::cast<std::string>(name),
                                        "' must be a number, a string or a list of either, got ",
                                        py::cast<std::string>(py::repr(value))));
    }
  }

  ProgramBuilder builder_;
  VariableId num_variables_ = 0;
  std::size_t num_statements_ = 0;
  std::map<std::size_t, std::string> statement_names_;  // those that the caller gave
  std::map<std::size_t, std::string> variable_names_;
};

}  // namespace

void bind_program_builder(py::module_& module) {
  py::class_<GraphBuilder>(module, "GraphBuilder", R"(Makes a Graph by hand, for networks that exist in no file.

    net = latpred.GraphBuilder()
    x = net.input("data", (3, 224, 224))
    y = net.apply("conv", [x, net.parameter((64, 3, 7, 7))], strides=[2, 2], pads=[3, 3, 3, 3])
    net.output(net.apply("relu", y))
    graph = net.build(batch=8)

Operators and attributes have ONNX's meaning; their names are those of latpred.operators().)")
      .def(py::init<>())
      .def("input", &GraphBuilder::input, py::arg("name"), py::arg("sizes"), py::arg("dtype") = "float32",
           "An input of the network; `sizes` are without the batch, which comes first.")
      .def("parameter", &GraphBuilder::parameter, py::arg("shape"), py::arg("dtype") = "float32", py::kw_only(),
           py::arg("name") = "", "A trained weight.")
      .def("constant", &GraphBuilder::constant, py::arg("values"),
           "Stored integers (a shape, axes, indices): one, or a list.")
      .def("apply", &GraphBuilder::apply, py::arg("operator"), py::arg("inputs"), py::kw_only(),
           py::arg("num_outputs") = 1, py::arg("name") = "",
           "Applies an operator to variables (None: an optional input left out); returns its output, or a tuple.")
      .def("output", &GraphBuilder::output, py::arg("variable"), "Declares an output of the network.")
      .def("program", &GraphBuilder::program)
      .def(
          "build",
          [](const GraphBuilder& builder, std::int64_t batch) {
            InputRequest request{.batch = checked_batch(batch)};
            return std::make_shared<Graph>(resolve(builder.program(), request));
          },
          py::arg("batch") = 1, "The graph at this batch.");
}

}  // namespace latpred
