#pragma once

#include <cstdint>

#include "latpred/program.h"
#include "readers/source.h"

namespace latpred::readers {

// The newest version of ONNX's own operators whose changes are known here (onnx 1.23).
inline constexpr std::int64_t kNewestOpset = 28;

// Brings a statement of ONNX's own domain, written in version `opset`, to the one form that shape rules know: a default
// that changed is made explicit, a renamed or moved setting gets its later name. Settings that moved from an attribute
// to an input stay attributes: rules take both.
void normalize_version(const Source& source, std::int64_t opset, Statement& statement);

}  // namespace latpred::readers
