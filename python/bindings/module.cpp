#include "bindings.h"

PYBIND11_MODULE(_core, module) {
  module.doc() = "The compiled part of latpred. Private: use the names of the latpred package.";
  latpred::bind_version(module);
  latpred::bind_error(module);
  latpred::bind_text(module);
  latpred::bind_statistics(module);
  latpred::bind_criterion(module);
  latpred::bind_reference_workload(module);
  latpred::bind_measure(module);
  latpred::bind_host_clock(module);
  latpred::bind_cuda(module);
  latpred::bind_pinning(module);
  latpred::bind_host_facts(module);
  latpred::bind_program(module);
  latpred::bind_graph(module);
  latpred::bind_operators(module);
  latpred::bind_subgraphs(module);
  latpred::bind_reader(module);
  latpred::bind_exported_program(module);
  latpred::bind_shapes(module);
  latpred::bind_program_builder(module);
  latpred::bind_precision(module);
  latpred::bind_runtime(module);
  latpred::bind_runtime_versions(module);
  latpred::bind_kernel(module);
  latpred::bind_device(module);
  latpred::bind_partition(module);
  latpred::bind_features(module);
  latpred::bind_node_features(module);
  latpred::bind_kernel_terms(module);
  latpred::bind_colocation(module);
  latpred::bind_memory(module);
  latpred::bind_energy(module);
  latpred::bind_checkpoint(module);
  latpred::bind_predictor(module);
  latpred::bind_input_copy(module);
  latpred::bind_interval(module);
  latpred::bind_calibration(module);
  latpred::bind_predict_request(module);
  latpred::bind_memory_fit(module);
  latpred::bind_session(module);
}
