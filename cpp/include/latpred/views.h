#pragma once

#include <cstdint>
#include <vector>

#include "latpred/graph.h"

namespace latpred {

// What PyTorch does with one node of a graph when it runs it eagerly.
struct ViewInfo {
  // [nodes] true: its outputs share the memory of its first input (transpose, slice, a reshape that strides allow), so
  // that no kernel runs and nothing is allocated.
  std::vector<bool> is_view;
  // [tensors] the tensor whose memory this one uses; itself where it owns its memory.
  std::vector<TensorId> base;
  std::vector<Shape> strides;  // [tensors] in elements
};

// Who lays out what point-wise operators make: PyTorch's TensorIterator or Inductor (kernels/loop_order.h).
enum class Ordering : std::uint8_t { iterator, inductor };

// Follows every tensor's strides through the graph, by the rules of torch.Tensor.view. `channels_last`: images come in
// that memory format, and the convolutions' filters have it.
[[nodiscard]] ViewInfo find_views(const Graph& graph, bool channels_last = false,
                                  Ordering ordering = Ordering::iterator);

// For runtimes without strides: what the operator table calls a view shares its input's memory, everything else moves
// data. `strides` stays empty.
[[nodiscard]] ViewInfo find_plain_views(const Graph& graph);

}  // namespace latpred
