#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <unordered_map>

#include "latpred/error.h"
#include "latpred/text.h"
#include "readers/keras/keras_network.h"
#include "readers/keras/keras_references.h"

namespace latpred::readers::keras {

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
  const Ends inputs = ends_of(config.at("input_layers"));
  const Ends outputs = ends_of(config.at("output_layers"));
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

}  // namespace latpred::readers::keras
