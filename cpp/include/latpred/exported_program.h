#pragma once

#include <map>
#include <string>
#include <string_view>

#include "latpred/program.h"
#include "latpred/reader.h"

namespace latpred {

// Reads a document in the schema of torch.export (what models/<name>.json of a .pt2 archive holds), as frontends write
// it for networks in memory. `weights`: name in the state dict -> identity; parameters and buffers of one identity are
// one tensor (tied), those without an entry are not tied. `name` is what messages call the network.
[[nodiscard]] Program read_exported_program_document(std::string_view document,
                                                     const std::map<std::string, std::string>& weights,
                                                     const std::string& name, const ReaderLimits& limits = {});

}  // namespace latpred
