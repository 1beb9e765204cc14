#pragma once

#include "latpred/program.h"
#include "latpred/reader.h"
#include "readers/source.h"

namespace latpred::readers {

// What the TensorFlow Lite model in `source` says. Images stay [batch, height, width, channels]; an activation that is
// fused into an operator becomes a statement of its own.
[[nodiscard]] Program read_tflite(const Source& source, const ReaderLimits& limits);

}  // namespace latpred::readers
