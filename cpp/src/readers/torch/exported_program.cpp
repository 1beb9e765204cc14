#include "readers/torch/exported_program.h"

#include <cstring>
#include <utility>

#include "latpred/error.h"
#include "latpred/json.h"
#include "latpred/text.h"
#include "readers/containers/zip.h"
#include "readers/torch/exported_document.h"
#include "readers/torch/exported_values.h"

namespace latpred::readers {
namespace {

// Where torch.export.save puts things below the archive's root folder (torch/export/pt2_archive/constants.py).
constexpr std::string_view kModels = "/models/";
constexpr std::string_view kWeights = "data/weights/";
constexpr std::string_view kConstants = "data/constants/";
constexpr std::string_view kCompiled = "/data/aotinductor/";
// The archives of torch before 2.8: flat, weights and constants in pickles of their own.
constexpr std::string_view kFlatDocument = "serialized_exported_program.json";
constexpr std::string_view kJson = ".json";

// "<root>/models/<name>.json"
struct Location {
  const ZipEntry* entry;
  std::string root;  // with its slash
  std::string name;
};

Location find_document(const Source& source, const ZipArchive& archive) {
  std::vector<Location> found;
  bool is_compiled = false;
  for (const ZipEntry& entry : archive.entries()) {
    is_compiled = is_compiled || entry.name.find(kCompiled) != std::string_view::npos;
    const std::size_t slash = entry.name.find('/');
    if (slash == std::string_view::npos || !entry.name.substr(slash).starts_with(kModels)) continue;
    std::string_view name = entry.name.substr(slash + kModels.size());
    if (!name.ends_with(kJson) || name.find('/') != std::string_view::npos) continue;
    name.remove_suffix(kJson.size());
    found.push_back({&entry, std::string(entry.name.substr(0, slash + 1)), std::string(name)});
  }
  if (found.size() == 1) return found.front();
  if (found.size() > 1) {
    std::vector<std::string> names;
    for (const Location& one : found) names.push_back(one.name);
    source.fail(concat("holds ", found.size(), " networks (", join(names),
                       "), expected one; save each on its own with "
                       "torch.export.save"));
  }
  if (is_compiled) {
    source.fail(
        "holds code that AOTInductor compiled for one device, no network; save the ExportedProgram it was "
        "compiled from with torch.export.save");
  }
  source.fail(
      "is an archive of torch without models/<name>.json, so that it holds no network; save one with "
      "torch.export.save");
}

// What the archive says of its tensors: name -> entry, in data/<folder>/<name>_<folder>_config.json.
class Payload {
 public:
  Payload(const Source& source, const ZipArchive& archive, const Location& location, std::string_view folder,
          std::string_view suffix, const ReaderLimits& limits)
      : archive_(archive), folder_(location.root + std::string(folder)) {
    const std::string path = concat(folder_, location.name, suffix);
    const ZipEntry* entry = archive.find(path);
    if (entry == nullptr) return;  // an archive without any such tensor
    try {
      json_ = parse_json(archive.checked(*entry), {.max_depth = limits.max_depth, .dropped_texts = {}});
      config_ = &json_.at("config").object();
    } catch (Error& error) {
      if (error.data().path.empty()) {
        error.data().path = source.path;
        error.add_context(concat("'", source.path, "': ", path));
      }
      throw;
    }
  }

  // Tensors that share their bytes. Weights that were never there (fakes) all name one empty entry.
  void read_identities(std::map<std::string, std::string>& identities) const {
    for (const auto& [name, meta] : config()) {
      const ZipEntry* entry = find(meta);
      if (entry == nullptr || entry->size == 0) continue;
      const Json* tensor = meta.find("tensor_meta");
      const bool has_tensor = tensor != nullptr && !tensor->is_null();
      const Json* offset = has_tensor ? tensor->find("storage_offset") : nullptr;
      identities.emplace(name,
                         concat(entry->name, "+", offset == nullptr ? 0 : exported_union(*offset).value.integer()));
    }
  }

  // Small integers, which sizes may depend on.
  void read_values(std::map<std::string, std::shared_ptr<const Value>>& values) const {
    ExportedSizes sizes;
    for (const auto& [name, meta] : config()) {
      const ZipEntry* entry = find(meta);
      const Json* tensor = meta.find("tensor_meta");
      if (entry == nullptr || tensor == nullptr || tensor->is_null()) continue;
      Value value{.dtype = exported_dtype(tensor->at("dtype")), .shape = {}, .integers = {}, .reals = {}};
      if (value.dtype != DType::int64) continue;
      std::int64_t count = 1;
      for (const Dimension& dimension : sizes.dimensions(tensor->at("sizes"))) {
        value.shape.push_back(dimension.size);
        if (dimension.size < 0 || __builtin_mul_overflow(count, dimension.size, &count)) count = kMaxFoldedElements + 1;
      }
      // A view of something larger has more bytes than its elements.
      if (count > kMaxFoldedElements || entry->size != static_cast<std::uint64_t>(count) * sizeof(std::int64_t))
        continue;
      if (!is_row_major(*tensor, value.shape)) continue;
      value.integers.resize(static_cast<std::size_t>(count));
      if (count > 0) std::memcpy(value.integers.data(), archive_.checked(*entry).data(), entry->size);
      values.emplace(name, std::make_shared<const Value>(std::move(value)));
    }
  }

 private:
  [[nodiscard]] const Json::Object& config() const {
    static const Json::Object kNone;
    return config_ == nullptr ? kNone : *config_;
  }
  [[nodiscard]] const ZipEntry* find(const Json& meta) const {
    return archive_.find(folder_ + meta.at("path_name").text());
  }
  static bool is_row_major(const Json& tensor, const Shape& shape) {
    const Json::Array& strides = tensor.at("strides").array();
    std::int64_t expected = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
      if (i >= strides.size()) return false;
      if (shape[i] != 1 && exported_union(strides[i]).value.integer() != expected) return false;
      expected *= shape[i];
    }
    return true;
  }

  const ZipArchive& archive_;
  std::string folder_;
  Json json_;
  const Json::Object* config_ = nullptr;
};

}  // namespace

Program read_exported_program(const Source& source, const ReaderLimits& limits) {
  const ZipArchive archive(source);
  if (const ZipEntry* flat = archive.find_ending(kFlatDocument)) {
    return read_exported_document(source, archive.checked(*flat), {}, "torch.export archive (before torch 2.8)",
                                  limits);
  }
  const Location location = find_document(source, archive);
  ExportedStore store;
  const Payload weights(source, archive, location, kWeights, "_weights_config.json", limits);
  const Payload constants(source, archive, location, kConstants, "_constants_config.json", limits);
  try {
    weights.read_identities(store.identities);
    weights.read_values(store.values);
    constants.read_values(store.values);
  } catch (Error& error) {
    if (error.data().path.empty()) {
      error.data().path = source.path;
      error.add_context(concat("'", source.path, "': the list of its stored tensors"));
    }
    throw;
  }
  return read_exported_document(source, archive.checked(*location.entry), store, "torch.export archive", limits);
}

}  // namespace latpred::readers
