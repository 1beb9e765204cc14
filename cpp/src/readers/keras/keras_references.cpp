#include "readers/keras/keras_references.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "latpred/error.h"

namespace latpred::readers::keras {
namespace {

// ["conv1", 0, 0], with a dictionary behind it in some places.
bool is_reference(const Json& json) {
  if (!json.is_array() || json.array().size() < 3 || json.array().size() > 4) return false;
  const Json::Array& parts = json.array();
  return parts[0].is_text() && parts[1].is_integer() && parts[2].is_integer();
}

Reference reference_of(const Json& json) {
  const Json::Array& parts = json.array();
  if (parts.size() < 3) throw ModelFileError("a reference to a tensor has fewer than 3 entries");
  return {parts[0].text(), parts[1].integer(), parts[2].integer()};
}

bool is_keras_tensor(const Json& json) {
  if (!json.is_object()) return false;
  const Json* name = json.find("class_name");
  return name != nullptr && name->is_text() && name->text() == "__keras_tensor__";
}

void collect(const Json& json, const Resolve& resolve, Argument& result) {
  if (is_keras_tensor(json)) {
    const Json& config = json.at("config");
    result.tensors.push_back(resolve(reference_of(config.at("keras_history")), &config));
  } else if (json.is_array()) {
    for (const Json& item : json.array()) collect(item, resolve, result);
  } else if (json.is_object()) {
    for (const auto& [key, value] : json.object()) {
      const std::size_t before = result.tensors.size();
      collect(value, resolve, result);
      if (result.tensors.size() == before + 1) result.keys.push_back(key);
    }
  }
}

// One argument as Keras 3 writes it.
Argument argument_of(const Json& json, const Resolve& resolve) {
  Argument result;
  collect(json, resolve, result);
  if (result.tensors.empty()) result.constant = &json;
  if (result.keys.size() != result.tensors.size()) result.keys.clear();
  return result;
}

// A keyword argument of Keras 2: tensors are references without more ado.
Argument older_argument_of(const Json& json, const Resolve& resolve) {
  Argument result;
  if (is_reference(json)) {
    result.tensors.push_back(resolve(reference_of(json), nullptr));
  } else if (json.is_array() && !json.array().empty() &&
             std::all_of(json.array().begin(), json.array().end(), is_reference)) {
    for (const Json& item : json.array()) result.tensors.push_back(resolve(reference_of(item), nullptr));
  } else {
    result.constant = &json;
  }
  return result;
}

void add_older_keywords(const Json& entry, const Resolve& resolve, Arguments& result) {
  if (entry.array().size() < 4) return;
  for (const auto& [key, value] : entry.array()[3].object()) {
    result.named.emplace_back(key, older_argument_of(value, resolve));
  }
}

// Keras takes the entries of a dictionary in the order of their keys.
void collect_ends(const Json& json, const std::string& key, Ends& result) {
  if (is_reference(json)) {
    result.emplace_back(key, reference_of(json));
  } else if (json.is_array()) {
    for (const Json& item : json.array()) collect_ends(item, "", result);
  } else {
    std::map<std::string_view, const Json*> sorted;
    for (const auto& [name, item] : json.object()) sorted.emplace(name, &item);
    for (const auto& [name, item] : sorted) collect_ends(*item, std::string(name), result);
  }
}

}  // namespace

Arguments arguments_of(const Json& call, const Resolve& resolve) {
  Arguments result;
  if (call.is_object() && call.find("args") != nullptr) {
    for (const Json& item : call.at("args").array()) result.positional.push_back(argument_of(item, resolve));
    for (const auto& [key, value] : call.at("kwargs").object()) {
      result.named.emplace_back(key, argument_of(value, resolve));
    }
    return result;
  }
  Argument tensors;
  const auto add = [&](const Json& entry) {
    const Reference reference = reference_of(entry);
    // A constant in the place of a tensor: its value stands where the tensor's number would.
    if (reference.layer == "_CONSTANT_VALUE") {
      tensors.constant = &entry.array()[2];
    } else {
      tensors.tensors.push_back(resolve(reference, nullptr));
    }
    add_older_keywords(entry, resolve, result);
  };
  if (is_reference(call)) {
    add(call);
  } else if (call.is_object()) {
    for (const auto& [key, entry] : call.object()) {
      add(entry);
      tensors.keys.push_back(key);
    }
  } else {
    for (const Json& entry : call.array()) add(entry);
  }
  result.positional.push_back(std::move(tensors));
  return result;
}

Ends ends_of(const Json& json) {
  Ends result;
  collect_ends(json, "", result);
  return result;
}

}  // namespace latpred::readers::keras
