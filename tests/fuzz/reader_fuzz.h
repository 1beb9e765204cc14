#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "latpred/error.h"
#include "latpred/graph.h"
#include "latpred/program.h"
#include "latpred/reader.h"
#include "latpred/shapes.h"
#include "readers/sniff.h"
#include "readers/source.h"

namespace latpred {

// Small files can ask for long work; the limits are there for that.
inline constexpr std::int64_t kMaxFuzzedNodes = 5'000;

// A reader and the shape engine on bytes of any kind: whatever they are, the answer is a Graph that keeps its own rules
// or an error of ours.
inline int fuzz_reader(Program (*read)(const readers::Source&, const ReaderLimits&), const char* path,
                       const std::uint8_t* data, std::size_t size) {
  const std::string_view content(reinterpret_cast<const char*>(data), size);
  static_cast<void>(readers::sniff(content));
  std::shared_ptr<const Program> program;
  try {
    program = std::make_shared<const Program>(read({path, content}, {.max_nodes = kMaxFuzzedNodes}));
  } catch (const Error&) {
    return 0;
  }
  for (const std::int64_t batch : {kSavedBatch, std::int64_t{3}}) {
    try {
      check(resolve(program, {.batch = batch}));
    } catch (const Error&) {
      // Refused with a reason: as good as an answer.
    }
  }
  return 0;
}

}  // namespace latpred
