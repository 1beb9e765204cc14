#pragma once

#include "latpred/program.h"
#include "latpred/reader.h"
#include "readers/source.h"

namespace latpred::readers {

// Reads an archive of torch.export.save (.pt2): its JSON document, never its weights, and nothing is unpickled.
[[nodiscard]] Program read_exported_program(const Source& source, const ReaderLimits& limits);

}  // namespace latpred::readers
