// The ONNX reader and the shape engine on bytes of any kind: whatever they are, the answer is a Graph that keeps its
// own rules or an error of ours.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "latpred/error.h"
#include "latpred/graph.h"
#include "latpred/shapes.h"
#include "readers/onnx.h"
#include "readers/sniff.h"

namespace {

// Small files can ask for long work; the limits are there for that.
constexpr std::int64_t kMaxNodes = 5'000;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace latpred;
  const std::string_view content(reinterpret_cast<const char*>(data), size);
  static_cast<void>(readers::sniff(content));
  std::shared_ptr<const Program> program;
  try {
    program = std::make_shared<const Program>(readers::read_onnx({"fuzz.onnx", content}, {.max_nodes = kMaxNodes}));
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
