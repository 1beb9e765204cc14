#include "bindings.h"

PYBIND11_MODULE(_core, module) {
  module.doc() = "The compiled part of latpred. Private: use the names of the latpred package.";
  latpred::bind_version(module);
  latpred::bind_error(module);
  latpred::bind_text(module);
  latpred::bind_program(module);
  latpred::bind_graph(module);
  latpred::bind_operators(module);
#ifdef LATPRED_HAS_READERS
  latpred::bind_reader(module);
#endif
#ifdef LATPRED_HAS_SHAPES
  latpred::bind_shapes(module);
  latpred::bind_program_builder(module);
#endif
#ifdef LATPRED_HAS_KERNELS
  latpred::bind_precision(module);
  latpred::bind_runtime(module);
  latpred::bind_kernel(module);
#endif
#ifdef LATPRED_HAS_DEVICES
  latpred::bind_device(module);
  latpred::bind_partition(module);
#endif
#ifdef LATPRED_HAS_FEATURES
  latpred::bind_features(module);
#endif
#ifdef LATPRED_HAS_MEMORY
  latpred::bind_memory(module);
#endif
#ifdef LATPRED_HAS_PREDICT
  latpred::bind_checkpoint(module);
  latpred::bind_predictor(module);
  latpred::bind_session(module);
#endif
}
