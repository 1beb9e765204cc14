#include "latpred/pinning.h"

#include <memory>
#include <optional>

#include "bindings.h"

namespace py = pybind11;

namespace latpred {
namespace {

// A context manager, because Python does not say when an object dies.
class Pinning {
 public:
  explicit Pinning(int core) : core_(core) {}
  int enter() {
    pinned_.emplace(core_);
    return pinned_->core();
  }
  void leave() { pinned_.reset(); }

 private:
  int core_;
  std::optional<PinnedThread> pinned_;
};

}  // namespace

void bind_pinning(py::module_& module) {
  py::class_<Pinning>(module, "Pinning", "with Pinning(core) as core: keeps this thread there. -1: where it is.")
      .def(py::init<int>(), py::arg("core") = -1)
      .def("__enter__", &Pinning::enter)
      .def("__exit__", [](Pinning& pinning, const py::args&) { pinning.leave(); });
  module.def("allowed_cores", &allowed_cores, "Cores that this thread may run on.");
}

}  // namespace latpred
