#include "readers/folder.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred::readers {
namespace {

namespace fs = std::filesystem;

// Folders that are refused, by a file in them.
struct RefusalRow {
  std::string_view file;
  std::string_view what;
  std::string_view advice;
};
constexpr RefusalRow kRefused[] = {
    {"tfhub_module.pb", "a TensorFlow Hub module of TensorFlow 1",
     "load it with tensorflow_hub and save it with tf.saved_model.save"},
    {"model_index.json", "a pipeline of several networks", "give the folder of one of them, such as its unet"},
    {"adapter_config.json", "an adapter: weights for a network that is not in it",
     "merge it into that network and save that"},
    {"Manifest.json", "a Core ML package", "use the network that it was converted from"},
};

// Files that name the model of a folder, in the order in which they are looked for.
constexpr std::string_view kFixedNames[] = {"saved_model.pb", "inference.json", "inference.pdmodel", "__model__"};
constexpr std::string_view kModelSuffixes[] = {".onnx", ".pt2", ".keras", ".tflite", ".pdmodel"};

bool ends_in(const fs::path& path, std::string_view suffix) { return path.extension() == suffix; }

std::vector<fs::path> files_of(const std::string& path) {
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    files.push_back(entry->path());
  }
  if (error) {
    throw ModelFileError(concat("folder '", path, "' cannot be read: ", error.message()), {.path = path});
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool is_model_file(const fs::path& file) {
  std::error_code ignored;
  if (std::any_of(std::begin(kModelSuffixes), std::end(kModelSuffixes),
                  [&](std::string_view suffix) { return ends_in(file, suffix); })) {
    return true;
  }
  return ends_in(file, ".json") && fs::exists(fs::path(file).replace_extension(".pdiparams"), ignored);
}

// What a folder without a graph holds; empty where it tells nothing.
std::string_view weights_in(const std::vector<fs::path>& files) {
  struct WeightsRow {
    std::string_view suffix;
    std::string_view what;
  };
  constexpr WeightsRow kRows[] = {
      {".index", "a TensorFlow checkpoint: weights only, no graph; save the network with tf.saved_model.save"},
      {".safetensors",
       "weights without a config.json, no graph; add the config.json, or save the module with torch.export.save"},
      {".pdiparams", "weights of Paddle only, no graph; give the .json or .pdmodel file that belongs to them"},
  };
  for (const WeightsRow& row : kRows) {
    if (std::any_of(files.begin(), files.end(), [&](const fs::path& file) { return ends_in(file, row.suffix); })) {
      return row.what;
    }
  }
  return {};
}

}  // namespace

std::string model_in_folder(const std::string& path) {
  const auto fail = [&](const std::string& what) { throw ModelFileError(what, {.path = path}); };
  const std::vector<fs::path> files = files_of(path);
  if (files.empty()) fail(concat("'", path, "' is an empty folder"));
  const auto find = [&](std::string_view name) {
    return std::find_if(files.begin(), files.end(), [&](const fs::path& file) { return file.filename() == name; });
  };
  for (const RefusalRow& row : kRefused) {
    if (find(row.file) != files.end()) fail(concat("'", path, "' is ", row.what, "; ", row.advice));
  }
  for (const std::string_view name : kFixedNames) {
    if (const auto found = find(name); found != files.end()) return found->string();
  }
  std::vector<std::string> models;
  for (const fs::path& file : files) {
    if (is_model_file(file)) models.push_back(file.string());
  }
  if (models.size() == 1) return models.front();
  if (models.size() > 1) {
    fail(concat("'", path, "' is a folder with ", models.size(), " models; give one of them: '", join(models, "', '"),
                "'"));
  }
  if (const auto found = find("config.json"); found != files.end()) return found->string();
  if (const std::string_view what = weights_in(files); !what.empty()) fail(concat("'", path, "' holds ", what));
  fail(concat("'", path, "' is a folder without a model of a known name; give the model file itself"));
  return {};
}

}  // namespace latpred::readers
