#pragma once

#include <cstddef>
#include <cstdint>

#include "latpred/attributes.h"
#include "latpred/operator_id.h"
#include "latpred/program.h"

namespace latpred {

// Where channels and image dimensions stand. Files keep the order that they have: attribute `channels_last` = 1 marks
// [batch, spatial ..., channels], `filter` names the order of a convolution's weight by its letters.

[[nodiscard]] bool has_channels_last(const Attributes& attributes);
// The dimension of a tensor of `rank` that holds the channels; 0 where there is only one dimension.
[[nodiscard]] std::size_t channel_axis(const Attributes& attributes, std::size_t rank);
// A shape of the operator's image as [batch, channels, spatial ...], and back to the order of the file. Shapes of fewer
// than 3 dimensions are the same in both but for [channels].
[[nodiscard]] Shape channels_first(const Attributes& attributes, Shape shape);
[[nodiscard]] Shape in_file_order(const Attributes& attributes, Shape shape);

// The weight of a convolution, whatever order the file keeps it in.
struct Filter {
  std::int64_t in = 0;   // of one group; of all groups where the convolution is transposed
  std::int64_t out = 0;  // of all groups; of one group where the convolution is transposed
  Shape window;
};
// Throws ShapeError where `weight` has fewer than 3 dimensions, or attribute `filter` names no known order.
[[nodiscard]] Filter filter_of(OperatorId op, const Attributes& attributes, const Shape& weight);

}  // namespace latpred
