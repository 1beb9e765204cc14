#include "latpred/version.h"

#include "bindings.h"

namespace py = pybind11;

namespace latpred {

void bind_version(py::module_& module) {
  module.attr("__version__") = py::str(std::string(version()));
#ifdef LATPRED_TORCH_VERSION
  module.attr("TORCH_VERSION") = py::str(LATPRED_TORCH_VERSION);  // that _predictors was built with
#else
  module.attr("TORCH_VERSION") = py::none();
#endif
}

}  // namespace latpred
