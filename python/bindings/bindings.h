#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred {

// Names from a file may hold bytes that are no UTF-8: they are shown as \xff, never an error of their own.
inline pybind11::str python_text(std::string_view text) {
  return pybind11::reinterpret_steal<pybind11::str>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<pybind11::ssize_t>(text.size()), "backslashreplace"));
}

inline pybind11::typing::List<pybind11::str> python_texts(const std::vector<std::string>& texts) {
  pybind11::typing::List<pybind11::str> list;
  for (const std::string& text : texts) list.append(python_text(text));
  return list;
}

// Zero has a meaning inside (the batch of the file); a user's batch starts at one.
inline std::int64_t checked_batch(std::int64_t batch) {
  if (batch >= 1) return batch;
  throw InvalidArgumentError(concat("batch must be an integer >= 1, got ", batch));
}

// One function for each public header, in <stem>.cpp.
void bind_calibration(pybind11::module_& module);
void bind_checkpoint(pybind11::module_& module);
void bind_colocation(pybind11::module_& module);
void bind_criterion(pybind11::module_& module);
void bind_cuda(pybind11::module_& module);
void bind_device(pybind11::module_& module);
void bind_energy(pybind11::module_& module);
void bind_error(pybind11::module_& module);
void bind_exported_program(pybind11::module_& module);
void bind_features(pybind11::module_& module);
void bind_graph(pybind11::module_& module);
void bind_host_clock(pybind11::module_& module);
void bind_host_facts(pybind11::module_& module);
void bind_input_copy(pybind11::module_& module);
void bind_interval(pybind11::module_& module);
void bind_kernel(pybind11::module_& module);
void bind_kernel_terms(pybind11::module_& module);
void bind_measure(pybind11::module_& module);
void bind_memory(pybind11::module_& module);
void bind_memory_fit(pybind11::module_& module);
void bind_node_features(pybind11::module_& module);
void bind_operators(pybind11::module_& module);
void bind_partition(pybind11::module_& module);
void bind_pinning(pybind11::module_& module);
void bind_precision(pybind11::module_& module);
void bind_predict_request(pybind11::module_& module);
void bind_predictor(pybind11::module_& module);
void bind_program(pybind11::module_& module);
void bind_program_builder(pybind11::module_& module);
void bind_reader(pybind11::module_& module);
void bind_reference_workload(pybind11::module_& module);
void bind_runtime(pybind11::module_& module);
void bind_runtime_versions(pybind11::module_& module);
void bind_session(pybind11::module_& module);
void bind_shapes(pybind11::module_& module);
void bind_statistics(pybind11::module_& module);
void bind_subgraphs(pybind11::module_& module);
void bind_text(pybind11::module_& module);
void bind_version(pybind11::module_& module);

}  // namespace latpred
