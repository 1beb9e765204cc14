#include "latpred/exported_program.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "bindings.h"
#include "latpred/reader.h"

namespace py = pybind11;

namespace latpred {

void bind_exported_program(py::module_& module) {
  using Key = std::optional<std::variant<std::int64_t, std::string>>;
  const ReaderLimits limits;
  module.def(
      "read_exported_program",
      [](const py::typing::Union<py::str, py::bytes>& document, const std::map<std::string, Key>& weights,
         const std::string& name, std::int64_t max_nodes, std::int64_t max_depth) {
        const auto text = py::cast<std::string>(document);
        std::map<std::string, std::string> identities;
        for (const auto& [weight, key] : weights) {
          if (!key) continue;
          const auto* number = std::get_if<std::int64_t>(&*key);
          identities.emplace(weight, number != nullptr ? concat("#", *number) : std::get<std::string>(*key));
        }
        const py::gil_scoped_release unlocked;
        return std::make_shared<Program>(
            read_exported_program_document(text, identities, name, {.max_nodes = max_nodes, .max_depth = max_depth}));
      },
      py::arg("document"), py::arg("weights") = std::map<std::string, Key>(), py::arg("name") = "model",
      py::arg("max_nodes") = limits.max_nodes, py::arg("max_depth") = limits.max_depth,
      "What a document of torch.export says: models/<name>.json of a .pt2 archive, or what a frontend has written like "
      "it. weights: name in the state dict -> identity; equal ones, other than None, are one tensor.");
}

}  // namespace latpred
