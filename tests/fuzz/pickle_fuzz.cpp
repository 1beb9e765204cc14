#include "readers/containers/pickle.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "readers/weight_files.h"

// The look at a pickle never ends behind its end, and whatever it says of weights can be put into words.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace latpred::readers;
  const std::string_view content(reinterpret_cast<const char*>(data), size);
  if (scan_pickle(content).size > size || scan_legacy_checkpoint(content).size > size) std::abort();
  if (describe_pickle(content).empty() || describe_torch_save(content).empty()) std::abort();
  return 0;
}
