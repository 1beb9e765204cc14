#include "runtime_memory.h"

#include <string>
#include <vector>

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred {
namespace {

// Laws of 28 and 211 processes on one processor, widths with families left out: benchmarks/memory/processes.py.
constexpr ProcessMemory kEager{22.7e6, 1.11, 1.97, 0.128};
constexpr ProcessMemory kOpenVino{68.4e6, 2.18, 1.27, 0.141};

constexpr RuntimeMemory kRuntimes[]{
    {"eager", Arena::caching, true, false, true, kEager},
    // Inductor lays convolutions out channels-last beforehand; `inplace_buffers` is on.
    {"compiled", Arena::caching, true, true, false},
    {"tensorrt", Arena::planned, false, false, false},
    {"onnxruntime", Arena::planned, false, false, true},
    {"openvino", Arena::planned, false, false, false, kOpenVino},
    {"kernel", Arena::planned, false, false, false},
};

}  // namespace

std::span<const RuntimeMemory> runtime_memories() { return kRuntimes; }

const RuntimeMemory& runtime_memory(std::string_view runtime) {
  std::vector<std::string> valid;
  for (const RuntimeMemory& row : kRuntimes) {
    if (row.runtime == runtime) return row;
    valid.emplace_back(row.runtime);
  }
  throw InvalidArgumentError(unknown_name_message("runtime", runtime, valid), {.valid = valid});
}

}  // namespace latpred
