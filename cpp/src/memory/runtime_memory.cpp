#include "runtime_memory.h"

#include <string>
#include <vector>

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred {
namespace {

constexpr RuntimeMemory kRuntimes[]{
    {"eager", Arena::caching, true, false, true},
    // Inductor lays convolutions out channels-last beforehand; `inplace_buffers` is on.
    {"compiled", Arena::caching, true, true, false},
    {"tensorrt", Arena::planned, false, false, false},
    {"onnxruntime", Arena::planned, false, false, true},
    {"openvino", Arena::planned, false, false, false},
    {"kernel", Arena::planned, false, false, false},
};

}  // namespace

const RuntimeMemory& runtime_memory(std::string_view runtime) {
  std::vector<std::string> valid;
  for (const RuntimeMemory& row : kRuntimes) {
    if (row.runtime == runtime) return row;
    valid.emplace_back(row.runtime);
  }
  throw InvalidArgumentError(unknown_name_message("runtime", runtime, valid), {.valid = valid});
}

}  // namespace latpred
