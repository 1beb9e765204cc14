#include "readers/tflite/tflite.h"

#include "reader_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return latpred::fuzz_reader(latpred::readers::read_tflite, "fuzz.tflite", data, size);
}
