#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "latpred/graph.h"

namespace latpred {

// PyTorch's rules for the strides of tensors, in elements.

inline constexpr std::size_t kImageRank = 4;  // NCHW: what channels-last memory is for

[[nodiscard]] Shape contiguous_strides(const Shape& shape);

// Of NCHW sizes over NHWC memory, without gaps.
[[nodiscard]] Shape channels_last_strides(const Shape& shape);

// Row-major without gaps; sizes of one do not matter.
[[nodiscard]] bool is_contiguous(const Shape& shape, const Shape& strides);

// Row-major, with or without gaps; sizes of one and repeated ones do not matter.
[[nodiscard]] bool is_row_major(const Shape& shape, const Shape& strides);

// NCHW sizes over NHWC memory: what torch calls the channels-last memory format.
[[nodiscard]] bool is_channels_last(const Shape& shape, const Shape& strides);
// [tensors] which of `graph` lie so; weights do not count.
[[nodiscard]] std::vector<bool> channels_last_tensors(const Graph& graph, const std::vector<Shape>& strides);
// The same without gaps, which some of another image's channels have: what torch calls contiguous in that format.
[[nodiscard]] bool is_dense_channels_last(const Shape& shape, const Shape& strides);
// The same of the operator's image in whatever order its file has: its memory is in the other one of both orders.
[[nodiscard]] bool is_in_other_order(const Attributes& attributes, const Shape& shape, const Shape& strides);

// Whether what lies side by side where it is written does not where it is read; repeated elements do not matter.
[[nodiscard]] bool is_read_across(const Shape& shape, const Shape& read, const Shape& written);

// The strides under which `shape` with `strides` can be seen as `wanted`, or nothing when data would have to move:
// the rule of torch.Tensor.view.
[[nodiscard]] std::optional<Shape> viewed_strides(const Shape& shape, const Shape& strides, const Shape& wanted);

// `from` seen through broadcasting to `to`: 0 where a size of one is repeated.
[[nodiscard]] Shape broadcast_strides(const Shape& from, const Shape& strides, const Shape& to);

// Of two axes, the first now the inner one: above 0 to swap them, below to leave them, 0 where it makes no difference.
using IsWrongOrder = std::function<int(std::size_t inner, std::size_t outer)>;

// Without gaps, its axes sorted by `is_wrong_order`, from row-major ones.
[[nodiscard]] Shape sorted_strides(const Shape& shape, const IsWrongOrder& is_wrong_order);

// The strides of output `index` of a node that makes new memory. Point-wise operators keep the order of their operands'
// dimensions, convolutions and poolings keep channels-last, everything else is contiguous.
[[nodiscard]] Shape result_strides(const Graph& graph, const std::vector<Shape>& strides, const Node& node,
                                   std::size_t index);

}  // namespace latpred
