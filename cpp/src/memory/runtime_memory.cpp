#include "runtime_memory.h"

#include <algorithm>
#include <iterator>
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

// Of 28 and 211 processes on one processor, errors with families left out: benchmarks/memory/processes.py.
constexpr ProcessMemory kProcesses[]{
    {"eager", 22.7e6, 1.11, 1.97, 0.128},
    {"openvino", 68.4e6, 2.18, 1.27, 0.141},
};

}  // namespace

std::span<const ProcessMemory> all_process_memory() { return kProcesses; }

const ProcessMemory* process_memory(std::string_view runtime) {
  const auto* const found = std::ranges::find(kProcesses, runtime, &ProcessMemory::runtime);
  return found != std::end(kProcesses) ? found : nullptr;
}

const RuntimeMemory& runtime_memory(std::string_view runtime) {
  std::vector<std::string> valid;
  for (const RuntimeMemory& row : kRuntimes) {
    if (row.runtime == runtime) return row;
    valid.emplace_back(row.runtime);
  }
  throw InvalidArgumentError(unknown_name_message("runtime", runtime, valid), {.valid = valid});
}

}  // namespace latpred
