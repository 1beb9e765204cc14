#include "readers/keras/keras.h"

#include <optional>

#include "latpred/error.h"
#include "latpred/json.h"
#include "latpred/text.h"
#include "readers/containers/hdf5.h"
#include "readers/containers/zip.h"
#include "readers/keras/keras_network.h"

namespace latpred::readers {
namespace {

// Layers inside layers inside networks: five levels of JSON each.
constexpr std::int64_t kMaxJsonDepth = 256;

// Runs `step` and says the file's name where its error does not.
template <typename Step>
auto in_file(const Source& source, std::string_view what, Step step) {
  try {
    return step();
  } catch (Error& error) {
    if (error.data().path.empty()) {
      error.data().path = source.path;
      error.add_context(concat("'", source.path, "': ", what));
    }
    throw;
  }
}

Program lower(const Source& source, const ReaderLimits& limits, std::string_view config, std::string format,
              const std::string& producer) {
  return in_file(source, "its config", [&] {
    const Json model = parse_json(config, {.max_depth = kMaxJsonDepth});
    keras::Network network(source, limits, std::move(format));
    network.assembly().program().source.producer = producer;
    return network.lower(model);
  });
}

std::string text_member(const Json& json, std::string_view key) {
  const Json* found = json.is_object() ? json.find(key) : nullptr;
  return found != nullptr && found->is_text() ? found->text() : std::string();
}

}  // namespace

Program read_keras(const Source& source, const ReaderLimits& limits) {
  const ZipArchive archive(source);
  const ZipEntry* const config = archive.find("config.json");
  if (config == nullptr) source.fail("the Keras archive has no config.json");
  std::string version;
  if (const ZipEntry* const metadata = archive.find("metadata.json")) {
    in_file(source, "its metadata",
            [&] { version = text_member(parse_json(archive.checked(*metadata)), "keras_version"); });
  }
  return lower(source, limits, archive.checked(*config),
               concat("Keras archive", version.empty() ? "" : " of ", version), concat("keras ", version));
}

Program read_keras_config(const Source& source, const ReaderLimits& limits) {
  return lower(source, limits, source.content, "Keras config", "keras");
}

Program read_keras_hdf5(const Source& source, const ReaderLimits& limits) {
  const Hdf5RootAttributes attributes(source);
  const std::optional<std::string> config = attributes.text("model_config");
  if (!config) {
    const std::int64_t count = attributes.num_members();
    source.fail(concat("holds weights only (", count, count == 1 ? " layer" : " layers",
                       "), no graph; build the model in Keras and save it with model.save('m.keras')"));
  }
  const std::string version = attributes.text("keras_version").value_or("");
  return lower(source, limits, *config, concat("Keras HDF5", version.empty() ? "" : " of ", version),
               concat("keras ", version));
}

}  // namespace latpred::readers
