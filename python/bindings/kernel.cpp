#include "latpred/kernel.h"

#include "bindings.h"

namespace py = pybind11;

namespace latpred {

void bind_kernel(py::module_& module) {
  py::class_<Kernel>(module, "Kernel", "One thing that a runtime executes. Quantities are of one execution.")
      .def_property_readonly("name", [](const Kernel& kernel) { return python_text(kernel.name); })
      .def_property_readonly("kind", [](const Kernel& kernel) { return cost_kind_name(kernel.kind); })
      .def_readonly("members", &Kernel::members, "Ids of the graph's nodes.")
      .def_property_readonly("arithmetic", [](const Kernel& kernel) { return arithmetic_name(kernel.arithmetic); })
      .def_readonly("repeat", &Kernel::repeat)
      .def_readonly("macs", &Kernel::macs)
      .def_readonly("flops", &Kernel::flops)
      .def_readonly("bytes_in", &Kernel::bytes_in)
      .def_readonly("bytes_out", &Kernel::bytes_out)
      .def_readonly("weight_bytes", &Kernel::weight_bytes)
      .def_readonly("gemm_batch", &Kernel::gemm_batch)
      .def_readonly("m", &Kernel::m)
      .def_readonly("n", &Kernel::n)
      .def_readonly("k", &Kernel::k)
      .def_readonly("groups", &Kernel::groups)
      .def_readonly("window", &Kernel::window)
      .def_readonly("stride", &Kernel::stride)
      .def_readonly("positions", &Kernel::positions)
      .def_readonly("row", &Kernel::row)
      .def_readonly("normalised", &Kernel::normalised)
      .def_readonly("masked", &Kernel::masked)
      .def_readonly("pooled", &Kernel::pooled)
      .def_readonly("is_native_depthwise", &Kernel::is_native_depthwise)
      .def_readonly("is_unaligned", &Kernel::is_unaligned)
      .def_readonly("interpolates", &Kernel::interpolates)
      .def_readonly("channels_last", &Kernel::channels_last)
      .def_readonly("reads_across", &Kernel::reads_across)
      .def_readonly("concatenates", &Kernel::concatenates)
      .def("__repr__", [](const Kernel& kernel) { return python_text("<Kernel " + kernel.name + ">"); });
  py::class_<Kernels>(module, "Kernels", "What a runtime executes for a graph at a precision, in order.")
      .def_readonly("rows", &Kernels::rows)
      .def_readonly("runtime", &Kernels::runtime)
      .def_readonly("precision", &Kernels::precision)
      .def_readonly("num_launches", &Kernels::num_launches)
      .def_readonly("num_views", &Kernels::num_views)
      .def_property_readonly("unknown_operators",
                             [](const Kernels& kernels) { return python_texts(kernels.unknown_operators); });
  module.def(
      "fuse",
      [](const Graph& graph, const std::string& runtime, const std::string& precision) {
        return fuse(graph, runtime, precision);
      },
      py::arg("graph"), py::arg("runtime") = "eager", py::arg("precision") = "default",
      py::call_guard<py::gil_scoped_release>(), "Groups a graph into kernels by the rules of a runtime.");
}

}  // namespace latpred
