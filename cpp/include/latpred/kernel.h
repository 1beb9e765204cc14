#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "latpred/graph.h"
#include "latpred/operators.h"
#include "latpred/precision.h"
#include "latpred/storage.h"
#include "latpred/views.h"

namespace latpred {

// One thing that the runtime executes. Quantities are of one execution; `repeat` says how many there are.
struct Kernel {
  std::string name;  // "conv_12", "conv_12+relu_13", "cast"
  CostKind kind = CostKind::other;
  std::vector<NodeId> members;  // empty for what no node asked for: a cast, a layout change
  Arithmetic arithmetic = Arithmetic::fp32;
  std::int64_t repeat = 1;
  double macs = 0;
  double flops = 0;
  double bytes_in = 0;  // activations that cross into the group
  double bytes_out = 0;
  double weight_bytes = 0;
  // As a matrix product: gemm_batch independent [m, k] x [k, n]; zeros where the kernel is none.
  double gemm_batch = 0;
  double m = 0;
  double n = 0;
  double k = 0;
  double groups = 1;
  bool is_3x3 = false;    // a convolution's window of 3 x 3 without gaps: what Winograd's algorithms are for
  double window = 1;      // elements of the convolution or pooling window
  double stride = 1;      // product over the spatial axes
  double positions = 0;   // pixels of one output image: convolutions, pooling, resizing, batch norms
  double row = 0;         // elements that one result of a norm, softmax or reduction combines
  double normalised = 0;  // elements that PyTorch's own kernel of a norm goes through; 0: another's, or no norm
  double pooled = 0;      // results of PyTorch's own kernel of pooling; 0: another's, or no pooling
  bool masked = false;    // attention with a mask added to its scores
  bool is_native_depthwise = false;  // a depth-wise convolution by PyTorch's own kernel, which cuDNN is not asked for
  bool is_unaligned = false;         // a product, as it lies, of 16-bit rows that begin between multiples of 16 bytes
  bool interpolates = false;         // resizing by more than the nearest pixel, by PyTorch's own kernel
  bool channels_last = false;        // reads its image with the channels innermost
  bool reads_across = false;         // a copy or a point-wise operator of PyTorch's that reads against memory's order
  bool concatenates = false;         // a generated one that puts parts together, and does something else besides

  [[nodiscard]] double bytes() const { return bytes_in + bytes_out + weight_bytes; }
};

// What a runtime executes for a graph at a precision, in order.
struct Kernels {
  std::vector<Kernel> rows;
  std::string runtime;
  std::string precision;
  std::int64_t num_launches = 0;  // host calls: operators of an eager runtime, kernels of a fused one
  std::int64_t num_views = 0;     // operators that only look at a tensor another way: called, nothing is launched
  std::vector<std::string> unknown_operators;
  // Of the graph under this runtime and precision, for what looks at single tensors (memory).
  Storage storage;
  ViewInfo views;
};

// Groups `graph` into kernels by the rules of `runtime` (a name in runtimes()) at `precision` (a name in
// precisions()).
[[nodiscard]] Kernels fuse(const Graph& graph, std::string_view runtime, std::string_view precision);

}  // namespace latpred
