#include "readers/keras/keras_network.h"

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred::readers::keras {
namespace {

const Json* input_shape_of(const Json& config) {
  for (const char* key : {"batch_shape", "batch_input_shape"}) {
    const Json* shape = config.find(key);
    if (shape != nullptr && !shape->is_null()) return shape;
  }
  return nullptr;
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

}  // namespace

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

bool is_input_layer(const Json& layer) { return class_of(layer) == "InputLayer"; }

const Json::Array& layers_of(const Json& model) {
  const Json& config = model.at("config");
  return config.is_array() ? config.array() : config.at("layers").array();
}

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
