#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "latpred/device.h"
#include "latpred/graph.h"
#include "latpred/kernel.h"

namespace latpred {

// Peak memory of the process on the device, and what it is made of, in bytes.
struct MemoryEstimate {
  double weights_bytes = 0;
  double inputs_bytes = 0;            // the caller's input tensors
  double activations_peak_bytes = 0;  // most live activation bytes at one time, exact sizes
  double workspace_bytes = 0;         // scratch of convolution and matrix-product libraries
  double allocator_bytes = 0;         // what the caching allocator reserves beyond what is live
  double context_bytes = 0;           // driver context and libraries
  double total_bytes = 0;
  double process_lower_bytes = 0;  // on a processor: 80 % of its processes hold between these two
  double process_upper_bytes = 0;
  NodeId peak_node = -1;  // the node that runs when the peak is reached
};

struct MemoryRequest {
  bool autograd = false;  // keep what a backward pass would need
  // What the process may take of the device; nothing: all of its memory. A caching allocator that reaches it hands back
  // what it only keeps for later before it fails.
  std::optional<double> capacity_bytes = {};
};

[[nodiscard]] MemoryEstimate estimate_memory(const Graph& graph, const Kernels& kernels, const Device& device,
                                             const MemoryRequest& request = {});

}  // namespace latpred
