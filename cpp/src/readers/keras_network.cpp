#include "readers/keras_network.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred::readers::keras {
namespace {

bool is_input_layer(const Json& layer) { return class_of(layer) == "InputLayer"; }

const Json* input_shape_of(const Json& config) {
  for (const char* key : {"batch_shape", "batch_input_shape"}) {
    const Json* shape = config.find(key);
    if (shape != nullptr && !shape->is_null()) return shape;
  }
  return nullptr;
}

// The layers of a Sequential: older files have a bare list.
const Json::Array& layers_of(const Json& model) {
  const Json& config = model.at("config");
  return config.is_array() ? config.array() : config.at("layers").array();
}

std::vector<Dimension> dimensions_of(const Json& shape) {
  std::vector<Dimension> dimensions;
  for (const Json& size : shape.array()) {
    if (size.is_null()) {
      dimensions.push_back({kUnknownSize, dimensions.empty() ? "batch" : ""});
    } else {
      dimensions.push_back({size.integer(), ""});
      if (dimensions.back().size < 0) throw ModelFileError(concat("an input has a size of ", dimensions.back().size));
    }
  }
  return dimensions;
}

// A result of a layer: which call of it, and which of that call's results.
struct Reference {
  std::string layer;
  std::int64_t call = 0;
  std::int64_t tensor = 0;
};

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

// What stands at a reference: the tensor itself, with what the file declares of it (nullptr: nothing).
using Resolve = std::function<VariableId(const Reference&, const Json* declared)>;

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

// One call: {"args", "kwargs"} in Keras 3; [[name, call, tensor, keywords], ...] before, or one of these alone.
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

// The tensors in a network's list, dictionary or single name of inputs or outputs. Keras takes the entries of a
// dictionary in the order of their keys.
void collect_ends(const Json& json, const std::string& key, std::vector<std::pair<std::string, Reference>>& result) {
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

// The layers of one functional network and what their calls have given so far.
struct Network::Functional {
  const Json& model;
  const Json::Array& layers;
  std::unordered_map<std::string_view, std::size_t> by_name;
  std::vector<std::vector<Variables>> results;                          // of each layer, of each of its calls
  std::map<std::pair<std::size_t, std::size_t>, const Json*> declared;  // layer and call -> its first tensor
  bool is_keras3 = false;

  struct Place {
    std::size_t layer = 0;
    std::size_t call = 0;
    std::size_t tensor = 0;
  };

  explicit Functional(const Json& the_model) : model(the_model), layers(config_of(the_model).at("layers").array()) {
    results.resize(layers.size());
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const Json* name = layers[i].find("name");
      const std::string& text =
          name != nullptr && name->is_text() ? name->text() : config_of(layers[i]).at("name").text();
      if (!by_name.emplace(text, i).second) throw ModelFileError(concat("two layers have the name '", text, "'"));
      for (const Json& call : calls(i)) is_keras3 = is_keras3 || (call.is_object() && call.find("args") != nullptr);
    }
  }

  [[nodiscard]] const Json::Array& calls(std::size_t layer) const {
    static const Json::Array kNone;
    const Json* nodes = layers[layer].find("inbound_nodes");
    return nodes == nullptr ? kNone : nodes->array();
  }
  [[nodiscard]] std::size_t num_calls(std::size_t layer) const {
    return is_input_layer(layers[layer]) ? 1 : calls(layer).size();
  }

  // Networks are born with a call of their own, which files count in some places: Keras 3 for functional ones and
  // where inputs and outputs are listed, Keras 2 for all that begin with an input layer.
  [[nodiscard]] bool counts_own_call(std::size_t layer, bool is_end) const {
    const Json& inner = layers[layer];
    if (!is_network(inner)) return false;
    if (is_keras3) return is_end && is_functional(inner);
    const Json::Array& inside = layers_of(inner);
    return !inside.empty() && is_input_layer(inside.front());
  }

  [[nodiscard]] Place find(const Reference& reference, bool is_end) const {
    const auto found = by_name.find(reference.layer);
    if (found == by_name.end()) {
      throw ModelFileError(concat("a tensor of layer '", reference.layer, "' is read, but there is no such layer"));
    }
    const std::size_t layer = found->second;
    const auto count = static_cast<std::int64_t>(num_calls(layer));
    std::int64_t call = reference.call - (counts_own_call(layer, is_end) ? 1 : 0);
    if (call == count && is_network(layers[layer])) --call;  // some versions count in all places
    if (call < 0 || call >= count || reference.tensor < 0) {
      throw ModelFileError(concat("result ", reference.tensor, " of call ", reference.call, " of layer '",
                                  reference.layer, "' is read, but the layer is called ", count, " times"));
    }
    return {layer, static_cast<std::size_t>(call), static_cast<std::size_t>(reference.tensor)};
  }

  [[nodiscard]] VariableId at(const Place& place, const std::string& name) const {
    const Variables& given = results[place.layer].at(place.call);
    if (place.tensor >= given.size()) {
      throw ModelFileError(concat("result ", place.tensor, " of layer '", name, "' is read, which has ", given.size()));
    }
    return given[place.tensor];
  }
};

std::string name_of(const Json& layer) {
  const Json& config = config_of(layer);
  if (config.is_object()) {
    const Json* name = config.find("name");
    if (name != nullptr && name->is_text()) return name->text();
  }
  return class_of(layer);
}

const std::string& class_of(const Json& layer) { return layer.at("class_name").text(); }
const Json& config_of(const Json& layer) { return layer.at("config"); }

Program Network::lower(const Json& model) {
  if (!is_network(model)) {
    const std::string& name = class_of(model);
    throw UnsupportedOperatorError(
        concat("'", assembly_.source().path, "': the network is of class ", name,
               ", whose code and not its config says what it computes; save it as a functional network"),
        {.path = assembly_.source().path, .node = name, .op = name});
  }
  Variables outputs;
  if (is_functional(model)) {
    outputs = lower_functional(model, "", "", nullptr);
  } else {
    const Json::Array& layers = layers_of(model);
    const Json& config = config_of(model);
    const Json* shape = layers.empty() ? nullptr : input_shape_of(config_of(layers.front()));
    if (shape == nullptr && config.is_object()) shape = config.find("build_input_shape");
    if (shape == nullptr || shape->is_null()) {
      assembly_.source().fail(
          "the network was saved before it was built, so that no input has a size; call model.build(input_shape) and "
          "save it again");
    }
    const bool has_layer = !layers.empty() && is_input_layer(layers.front());
    const std::string name = has_layer ? name_of(layers.front()) : "input";
    outputs = call_sequential(model, "", "",
                              {input(name, *shape, has_layer ? config_of(layers.front()).find("dtype") : nullptr)});
  }
  for (const VariableId id : outputs) assembly_.output(id);
  return assembly_.finish();
}

void Network::count_call() {
  if (++num_calls_ > assembly_.limits().max_nodes) {
    assembly_.source().fail(concat("its layers are called more than ", grouped_digits(assembly_.limits().max_nodes),
                                   " times, limit ", grouped_digits(assembly_.limits().max_nodes), " (max_nodes)"));
  }
}

Variables Network::call(const Json& layer, const std::string& path, const std::string& suffix, Arguments arguments) {
  count_call();
  if (++depth_ > assembly_.limits().max_depth) {
    assembly_.source().fail(
        concat("layers stand inside one another more than ", assembly_.limits().max_depth, " deep (max_depth)"));
  }
  Variables results;
  if (is_network(layer)) {
    results = is_functional(layer)
                  ? call_functional(layer, path, suffix, arguments)
                  : call_sequential(layer, path, suffix,
                                    arguments.positional.empty() ? Variables{} : arguments.positional[0].tensors);
  } else {
    try {
      Call one(*this, layer, path, suffix, std::move(arguments));
      if (class_of(layer) == "Lambda") {
        one.fail("a Lambda layer is Python code in the file, which is never run; give it a class of its own");
      }
      const Lower lower = find_layer(layer);
      if (lower == nullptr) {
        one.unsupported(
            "its class is none of Keras's own that are read here; through Keras itself it is read where "
            "the class is registered (keras.saving.register_keras_serializable)");
      }
      one.cast_inputs();
      results = lower(one);
    } catch (Error& error) {
      if (!error.data().path.empty()) throw;
      error.data().path = assembly_.source().path;
      error.add_context(concat("'", assembly_.source().path, "': layer '", path, "' (", class_of(layer), ")"));
      throw;
    }
  }
  --depth_;
  return results;
}

Variables Network::call_sequential(const Json& model, const std::string& path, const std::string& suffix,
                                   Variables inputs) {
  Variables results = std::move(inputs);
  for (const Json& layer : layers_of(model)) {
    if (is_input_layer(layer)) continue;
    const std::string name = path.empty() ? name_of(layer) : concat(path, "/", name_of(layer));
    Arguments arguments;
    arguments.positional.push_back({.tensors = std::move(results)});
    results = call(layer, name, suffix, std::move(arguments));
  }
  return results;
}

Variables Network::call_functional(const Json& model, const std::string& path, const std::string& suffix,
                                   const Arguments& arguments) {
  if (arguments.positional.empty() || arguments.positional[0].tensors.empty()) {
    assembly_.source().fail(concat("network '", path, "' is called on no tensor"));
  }
  return lower_functional(model, path, suffix, &arguments.positional[0]);
}

Variables Network::lower_functional(const Json& model, const std::string& path, const std::string& suffix,
                                    const Argument* given) {
  Functional network(model);
  const Json& config = config_of(model);
  std::vector<std::pair<std::string, Reference>> inputs;
  std::vector<std::pair<std::string, Reference>> outputs;
  collect_ends(config.at("input_layers"), "", inputs);
  collect_ends(config.at("output_layers"), "", outputs);
  if (given != nullptr && given->tensors.size() != inputs.size()) {
    assembly_.source().fail(concat("network '", path, "' has ", inputs.size(), " inputs and is called on ",
                                   given->tensors.size(), " tensors"));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Functional::Place place = network.find(inputs[i].second, true);
    if (!is_input_layer(network.layers[place.layer])) {
      assembly_.source().fail(concat("layer '", inputs[i].second.layer, "' is listed as an input, but is none"));
    }
    VariableId id = kAbsent;
    if (given == nullptr) {
      id = input(network.layers[place.layer]);
    } else {
      std::size_t from = i;
      const auto key = std::find(given->keys.begin(), given->keys.end(), inputs[i].first);
      if (!inputs[i].first.empty() && key != given->keys.end()) from = key - given->keys.begin();
      id = given->tensors[from];
    }
    network.results[place.layer] = {{id}};
  }

  // Producers first, otherwise in the file's order.
  struct Node {
    std::size_t layer = 0;
    std::size_t call = 0;
    std::size_t num_open = 0;
    std::vector<std::size_t> readers;
  };
  std::vector<Node> nodes;
  std::vector<std::size_t> first_node(network.layers.size());
  for (std::size_t layer = 0; layer < network.layers.size(); ++layer) {
    first_node[layer] = nodes.size();
    if (is_input_layer(network.layers[layer])) continue;
    for (std::size_t call = 0; call < network.calls(layer).size(); ++call) nodes.push_back({layer, call, 0, {}});
    network.results[layer].resize(network.calls(layer).size());
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Resolve count = [&](const Reference& reference, const Json* declared) {
      const Functional::Place place = network.find(reference, false);
      if (declared != nullptr && place.tensor == 0)
        network.declared.emplace(std::pair(place.layer, place.call), declared);
      if (!is_input_layer(network.layers[place.layer])) {
        nodes[first_node[place.layer] + place.call].readers.push_back(i);
        ++nodes[i].num_open;
      } else if (network.results[place.layer].empty()) {
        assembly_.source().fail(concat("input layer '", reference.layer, "' is read, but not listed as an input"));
      }
      return kAbsent;
    };
    (void)arguments_of(network.calls(nodes[i].layer)[nodes[i].call], count);
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].num_open == 0) ready.push(i);
  }
  std::size_t num_done = 0;
  for (; !ready.empty(); ++num_done) {
    const Node& node = nodes[ready.top()];
    ready.pop();
    const Json& layer = network.layers[node.layer];
    const Resolve get = [&](const Reference& reference, const Json*) {
      return network.at(network.find(reference, false), reference.layer);
    };
    Arguments arguments = arguments_of(network.calls(node.layer)[node.call], get);
    const std::string name = path.empty() ? name_of(layer) : concat(path, "/", name_of(layer));
    const std::string again = node.call == 0 ? suffix : concat(suffix, ":", node.call);
    Variables results = call(layer, name, again, std::move(arguments));
    const auto declared = network.declared.find({node.layer, node.call});
    if (declared != network.declared.end() && !results.empty()) declare(results.front(), *declared->second);
    network.results[node.layer][node.call] = std::move(results);
    for (const std::size_t reader : node.readers) {
      if (--nodes[reader].num_open == 0) ready.push(reader);
    }
  }
  if (num_done != nodes.size()) {
    const auto stuck = std::find_if(nodes.begin(), nodes.end(), [](const Node& node) { return node.num_open > 0; });
    assembly_.source().fail(concat("layer '", name_of(network.layers[stuck->layer]),
                                   "' follows from its own results: the layers form a cycle"));
  }
  Variables results;
  for (const auto& [key, reference] : outputs) {
    const Functional::Place place = network.find(reference, true);
    results.push_back(network.at(place, reference.layer));
  }
  return results;
}

VariableId Network::input(const Json& layer) {
  const Json& config = config_of(layer);
  const Json* shape = input_shape_of(config);
  if (shape == nullptr) assembly_.source().fail(concat("input layer '", name_of(layer), "' has no shape"));
  for (const char* kind : {"sparse", "ragged"}) {
    const Json* flag = config.find(kind);
    if (flag != nullptr && flag->is_boolean() && flag->boolean()) {
      assembly_.source().fail(concat("input '", name_of(layer), "' is ", kind, "; only dense inputs are read"));
    }
  }
  return input(name_of(layer), *shape, config.find("dtype"));
}

VariableId Network::input(const std::string& name, const Json& shape, const Json* dtype) {
  const DType type = dtype == nullptr || !dtype->is_text() ? DType::float32 : dtype_named(dtype->text());
  return noted(assembly_.input(name, type, dimensions_of(shape)));
}

VariableId Network::weight(const Json& layer, const std::string& name, const std::string& full_name, DType dtype,
                           const Shape& shape, bool is_trained) {
  const Json* identity = &layer;
  const Json* number = layer.find("shared_object_id");
  if (number != nullptr && number->is_integer()) identity = shared_.emplace(number->integer(), &layer).first->second;
  const auto [found, is_new] = weights_.emplace(std::pair(identity, name), kAbsent);
  if (is_new) {
    found->second = noted(assembly_.stored(full_name, dtype, shape, is_trained));
  } else if (probe_.shape(found->second) != shape) {
    assembly_.source().fail(concat("weight '", full_name, "' would be ", shape_text(shape), " in one call and ",
                                   shape_text(*probe_.shape(found->second)), " in another"));
  }
  return found->second;
}

void Network::append(Statement statement, bool is_part) {
  probe_.run(statement);
  if (is_part) {
    assembly_.append_part(std::move(statement));
  } else {
    assembly_.append(std::move(statement));
  }
}

void Network::warn_once(const std::string& message) {
  if (warned_.insert(message).second) assembly_.warn(message);
}

void Network::declare(VariableId id, const Json& tensor) {
  Variable& variable = assembly_.variable(id);
  const Json* shape = tensor.find("shape");
  if (variable.has_shape || shape == nullptr || !shape->is_array()) return;
  std::vector<Dimension> dimensions = dimensions_of(*shape);
  const bool is_known = probe_.shape(id).has_value();
  const Json* dtype = tensor.find("dtype");
  if (!is_known && dtype != nullptr && dtype->is_text()) {
    Shape sizes;
    for (const Dimension& dimension : dimensions) sizes.push_back(dimension.size);
    probe_.assume(id, dtype_named(dtype->text()), sizes);
  }
  // An operation may put something else in front, which the file leaves open too.
  if (is_known && !dimensions.empty() && !probe_.leads_with_batch(id)) dimensions.front().symbol.clear();
  variable.has_shape = true;
  variable.dimensions = std::move(dimensions);
}

VariableId Network::result(std::string name) { return assembly_.result(std::move(name)); }

VariableId Network::noted(VariableId id) {
  probe_.add(id, assembly_.variable(id));
  return id;
}

DType dtype_named(const std::string& name) {
  try {
    return dtype_from_name(name);
  } catch (const Error& error) {
    throw ModelFileError(error.what());
  }
}

}  // namespace latpred::readers::keras
