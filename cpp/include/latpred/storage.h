#pragma once

#include <cstddef>
#include <vector>

#include "latpred/graph.h"
#include "latpred/operators.h"
#include "latpred/precision.h"
#include "latpred/runtime.h"

namespace latpred {

// How a precision stores a graph's tensors and on which units its nodes compute.
struct Storage {
  std::vector<int> tensor_bits;        // [tensors] bits of one element while the graph runs
  std::vector<Arithmetic> arithmetic;  // [nodes]
  // [nodes] under autocast: tensors that this node reads through a cast, in the order of its inputs.
  std::vector<std::vector<TensorId>> casts;
};

inline constexpr double kBitsPerByte = 8;
inline constexpr int kHalfBits = 16;
inline constexpr int kSingleBits = 32;

// Whether the network's code converts input `place` of `node` (kConverts).
[[nodiscard]] bool converts(const Node& node, std::size_t place);

// Bits of the copy that autocast makes of an element of `bits`: it moves between half and single precision.
[[nodiscard]] int bits_after_cast(int bits);

// Bits of one element of `id` as the node at `position` reads it.
[[nodiscard]] int bits_read(const Storage& storage, NodeId position, TensorId id);

// Whether a cast halves them.
[[nodiscard]] bool is_narrowed(const Storage& storage, NodeId position, TensorId id);

[[nodiscard]] Storage assign_storage(const Graph& graph, const std::vector<CostKind>& kinds, const Runtime& runtime,
                                     const Precision& precision);

}  // namespace latpred
