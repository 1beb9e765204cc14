#include "readers/onnx/onnx.h"

#include "reader_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return latpred::fuzz_reader(latpred::readers::read_onnx, "fuzz.onnx", data, size);
}
