#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "latpred/json.h"
#include "readers/assembly.h"
#include "readers/keras/keras_call.h"
#include "readers/shape_probe.h"

namespace latpred::readers::keras {

// The name under which a layer goes.
[[nodiscard]] std::string name_of(const Json& layer);
[[nodiscard]] const std::string& class_of(const Json& layer);
[[nodiscard]] const Json& config_of(const Json& layer);
[[nodiscard]] bool is_input_layer(const Json& layer);
// The layers of a Sequential.
[[nodiscard]] const Json::Array& layers_of(const Json& model);

// Every call of every layer, turned into operators: a Program in the making.
class Network {
 public:
  Network(const Source& source, const ReaderLimits& limits, std::string format)
      : assembly_(source, limits, "keras", std::move(format)) {}

  Program lower(const Json& model);

  // The results of `layer` called on `arguments`. Networks are layers too.
  Variables call(const Json& layer, const std::string& path, const std::string& suffix, Arguments arguments);

  // The weight `name` of `layer`, made by the first call.
  VariableId weight(const Json& layer, const std::string& name, const std::string& full_name, DType dtype,
                    const Shape& shape, bool is_trained);
  void append(Statement statement, bool is_part);
  // A warning that many calls may give: it is kept once.
  void warn_once(const std::string& message);
  // What the file says of `variable`, for the check against what its operators make.
  void declare(VariableId variable, const Json& tensor);

  [[nodiscard]] Assembly& assembly() { return assembly_; }
  [[nodiscard]] ShapeProbe& probe() { return probe_; }

  // Results and constants, known to the probe.
  VariableId result(std::string name);
  VariableId noted(VariableId id);

 private:
  struct Functional;  // keras_functional.cpp, with the networks that are graphs of layers

  Variables call_sequential(const Json& model, const std::string& path, const std::string& suffix, Variables inputs);
  Variables call_functional(const Json& model, const std::string& path, const std::string& suffix,
                            const Arguments& arguments);
  Variables lower_functional(const Json& model, const std::string& path, const std::string& suffix,
                             const Argument* given);
  VariableId input(const Json& layer);
  VariableId input(const std::string& name, const Json& shape, const Json* dtype);
  // Networks within networks that call each other often, without an operator in them, end here.
  void count_call();

  Assembly assembly_;
  ShapeProbe probe_;
  std::map<std::pair<const Json*, std::string>, VariableId> weights_;
  std::map<std::int64_t, const Json*> shared_;  // objects that the file has several times, by its number for them
  std::unordered_set<std::string> warned_;
  std::int64_t num_calls_ = 0;
  std::int64_t depth_ = 0;
};

// Whether the class is one of Keras's own rather than a user's of the same name.
[[nodiscard]] bool is_of_keras(const Json& layer);
[[nodiscard]] bool is_operation(const Json& layer);  // of keras.ops
[[nodiscard]] bool is_network(const Json& layer);    // Functional, Sequential, Model with layers
[[nodiscard]] bool is_functional(const Json& layer);
// Nothing where no table has the class.
[[nodiscard]] Lower find_layer(const Json& layer);
[[nodiscard]] std::vector<std::string> layer_names();

// A type by its name in a config; throws ModelFileError.
[[nodiscard]] DType dtype_named(const std::string& name);

}  // namespace latpred::readers::keras
