#include "readers/keras/keras.h"

#include "reader_fuzz.h"
#include "readers/containers/zip.h"

namespace latpred::readers {
namespace {

// The archive without its checksum, which no mutation would survive.
Program read_archive(const Source& source, const ReaderLimits& limits) {
  if (!source.content.starts_with("PK")) return read_keras_config(source, limits);
  const ZipArchive archive(source);
  const ZipEntry* const config = archive.find("config.json");
  if (config == nullptr) return read_keras(source, limits);
  return read_keras_config({source.path, archive.stored(*config)}, limits);
}

}  // namespace
}  // namespace latpred::readers

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return latpred::fuzz_reader(latpred::readers::read_archive, "fuzz.keras", data, size);
}
