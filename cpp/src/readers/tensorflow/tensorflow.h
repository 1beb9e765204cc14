#pragma once

#include "latpred/program.h"
#include "latpred/reader.h"
#include "readers/source.h"

namespace latpred::readers {

// TensorFlow's SavedModel (saved_model.pb) and GraphDef (a frozen .pb). Of a SavedModel the graph for serving and its
// signature serving_default.
[[nodiscard]] Program read_tensorflow(const Source& source, const ReaderLimits& limits);

}  // namespace latpred::readers
