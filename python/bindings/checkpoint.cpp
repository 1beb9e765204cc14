#include "latpred/checkpoint.h"

#include <string>
#include <vector>

#include "bindings.h"
#include "latpred/operators.h"
#include "latpred/precision.h"

namespace py = pybind11;

namespace latpred {

void bind_checkpoint(py::module_& module) {
  module.def(
      "checkpoint_format",
      [] {
        std::vector<std::string> kinds;
        for (std::size_t kind = 0; kind < kNumCostKinds; ++kind) {
          kinds.emplace_back(cost_kind_name(static_cast<CostKind>(kind)));
        }
        std::vector<std::string> arithmetics;
        for (std::size_t arithmetic = 0; arithmetic < kNumArithmetics; ++arithmetic) {
          arithmetics.emplace_back(arithmetic_name(static_cast<Arithmetic>(arithmetic)));
        }
        py::typing::Dict<py::str, py::object> format;
        format["format_version"] = kCheckpointFormatVersion;
        format["cost_kinds"] = kinds;
        format["arithmetics"] = arithmetics;
        return format;
      },
      "What a checkpoint's manifest must say to be read by this build.");
}

}  // namespace latpred
