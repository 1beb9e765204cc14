#include "readers/torch/srepr.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>

#include "latpred/error.h"
#include "shapes/inputs.h"

// Sizes as sympy writes them and as the shape engine evaluates them.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace latpred;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::map<std::string, std::int64_t> symbols{{"s0", 7}, {"s1", std::numeric_limits<std::int64_t>::max()}};
  static_cast<void>(shapes::evaluate(text, symbols));
  try {
    static_cast<void>(shapes::evaluate(readers::infix_of_srepr(text), symbols));
  } catch (const Error&) {
    // Refused with a reason: as good as an answer.
  }
  return 0;
}
