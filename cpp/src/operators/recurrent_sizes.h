#pragma once

#include <cstdint>
#include <vector>

#include "latpred/graph.h"

namespace latpred {

// The extents of an LSTM, GRU or plain recurrent layer.
struct RecurrentSizes {
  std::int64_t length = 0;  // steps
  std::int64_t batch = 0;
  std::int64_t input = 0;
  std::int64_t hidden = 0;
  std::int64_t directions = 1;
  std::int64_t gates = 1;
  bool batch_first = false;  // ONNX's layout 1
};

// Input [length, batch, input] (batch first with layout 1), weights [directions, gates * hidden, input], recurrence
// [directions, gates * hidden, hidden], or those of the first direction without that dimension. With the attribute
// `projected` the input has been multiplied already: [length, batch, gates * hidden], one direction, no weights of its
// own (Paddle's gru and lstm). Throws ShapeError naming the sizes that do not fit.
[[nodiscard]] RecurrentSizes recurrent_sizes(OperatorId op, const Attributes& attributes,
                                             const std::vector<const Shape*>& inputs);

}  // namespace latpred
