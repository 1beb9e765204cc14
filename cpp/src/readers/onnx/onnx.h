#pragma once

#include "latpred/program.h"
#include "latpred/reader.h"
#include "readers/source.h"

namespace latpred::readers {

// What the ONNX model in `source` says. Small constants are decoded, Constant nodes become stored variables,
// model-local functions are put in place of their calls, older operator versions are brought to one form.
[[nodiscard]] Program read_onnx(const Source& source, const ReaderLimits& limits);

}  // namespace latpred::readers
