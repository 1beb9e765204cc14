#include "runtime_memory.h"

#include <string>
#include <vector>

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred {
namespace {

constexpr RuntimeMemory kRuntimes[]{
    {"eager", Arena::caching, true, true},
    {"compiled", Arena::caching, true, false},  // Inductor lays convolutions out channels-last beforehand
    {"tensorrt", Arena::planned, false, false},
    {"onnxruntime", Arena::planned, false, true},
    {"openvino", Arena::planned, false, false},
    {"kernel", Arena::planned, false, false},
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
