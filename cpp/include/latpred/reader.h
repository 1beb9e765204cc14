#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "latpred/program.h"

namespace latpred {

// Guards against files made to exhaust us; a caller with a larger honest file can raise them.
struct ReaderLimits {
  std::int64_t max_nodes = 2'000'000;
  std::int64_t max_depth = 64;  // nested messages, bodies and function calls
};

// Reads what a model file says. `framework` empty: the content decides; given: it is checked against the content.
// Weights are never read, nothing in the file is executed. Throws ModelFileError with path and offset.
[[nodiscard]] Program read_program(const std::string& path, std::string_view framework = "",
                                   const ReaderLimits& limits = {});

// The frameworks that read_program takes, for look-ups and documentation.
[[nodiscard]] std::vector<std::string> frameworks();

}  // namespace latpred
