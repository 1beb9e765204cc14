#pragma once

#include "latpred/program.h"
#include "latpred/reader.h"
#include "readers/source.h"

namespace latpred::readers {

// A network as Paddle 3 saves it: PIR in JSON (inference.json).
[[nodiscard]] Program read_paddle_pir(const Source& source, const ReaderLimits& limits);

}  // namespace latpred::readers
