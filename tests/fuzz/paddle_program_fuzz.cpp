#include "readers/paddle/paddle_program.h"

#include "reader_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return latpred::fuzz_reader(latpred::readers::read_paddle_program, "fuzz.pdmodel", data, size);
}
