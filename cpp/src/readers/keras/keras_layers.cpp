#include <algorithm>
#include <unordered_map>

#include "latpred/error.h"
#include "readers/keras/keras_network.h"

namespace latpred::readers::keras {
namespace {

using Table = std::unordered_map<std::string_view, Lower>;

Table table_of(std::initializer_list<const std::vector<LayerRow>*> lists) {
  Table table;
  for (const std::vector<LayerRow>* rows : lists) {
    for (const LayerRow& row : *rows) table.emplace(row.class_name, row.lower);
  }
  return table;
}

const Table& layers() {
  static const Table kTable = table_of({&activation_layers(), &attention_layers(), &convolution_layers(),
                                        &dense_layers(), &merging_layers(), &normalization_layers(), &pooling_layers(),
                                        &recurrent_layers(), &reshaping_layers(), &wrapping_layers()});
  return kTable;
}

const Table& operations() {
  static const Table kTable = table_of({&operation_layers()});
  return kTable;
}

std::string_view module_of(const Json& layer) {
  const Json* module = layer.find("module");
  return module != nullptr && module->is_text() ? std::string_view(module->text()) : std::string_view();
}

bool starts_with_package(std::string_view module, std::string_view package) {
  return module.starts_with(package) && (module.size() == package.size() || module[package.size()] == '.');
}

}  // namespace

// Keras 2's files name no module for its own classes; theirs and a user's can then be told by the name alone.
bool is_of_keras(const Json& layer) {
  const std::string_view module = module_of(layer);
  if (module.empty() || module == "builtins") return true;
  for (const std::string_view package :
       {"keras", "tf_keras", "keras_core", "tensorflow.keras", "tensorflow.python.keras"}) {
    if (starts_with_package(module, package)) return true;
  }
  return false;
}

// HDF5 files name no modules; there an operation has no setting of a layer's.
bool is_operation(const Json& layer) {
  const std::string_view module = module_of(layer);
  if (!module.empty()) {
    return starts_with_package(module, "keras.src.ops") || starts_with_package(module, "keras.ops");
  }
  const Json& config = config_of(layer);
  return config.is_object() && config.find("trainable") == nullptr && operations().contains(class_of(layer));
}

bool is_functional(const Json& layer) {
  const Json& config = config_of(layer);
  return is_network(layer) && config.is_object() && config.find("input_layers") != nullptr;
}

// By what the config holds, as a subclass of Model keeps the functional config where it has one.
bool is_network(const Json& layer) {
  const Json* config = layer.find("config");
  if (config == nullptr) return false;
  if (config->is_array()) return class_of(layer) == "Sequential";
  if (!config->is_object()) return false;
  const Json* inner = config->find("layers");
  if (inner == nullptr || !inner->is_array()) return false;
  return is_of_keras(layer) && (class_of(layer) == "Sequential" || config->find("input_layers") != nullptr);
}

Lower find_layer(const Json& layer) {
  if (!is_of_keras(layer)) return nullptr;
  const Table& table = is_operation(layer) ? operations() : layers();
  const auto found = table.find(class_of(layer));
  return found != table.end() ? found->second : nullptr;
}

std::vector<std::string> layer_names() {
  std::vector<std::string> names;
  for (const auto& [name, lower] : layers()) names.emplace_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace latpred::readers::keras
