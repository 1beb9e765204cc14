#pragma once

#include "latpred/program.h"
#include "latpred/reader.h"
#include "readers/source.h"

namespace latpred::readers {

// A network as Paddle 1 and 2 save it: a ProgramDesc (inference.pdmodel, __model__).
[[nodiscard]] Program read_paddle_program(const Source& source, const ReaderLimits& limits);

}  // namespace latpred::readers
