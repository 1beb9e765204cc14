#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "latpred/json.h"
#include "latpred/program.h"

namespace latpred::readers::keras {

class Network;

// One argument of a call: a tensor, the tensors of a list, or anything else as the config has it.
struct Argument {
  std::vector<VariableId> tensors;
  std::vector<std::string> keys;   // of the tensors, where they came in a dictionary
  const Json* constant = nullptr;  // where there is no tensor in it
};

struct Arguments {
  std::vector<Argument> positional;
  std::vector<std::pair<std::string, Argument>> named;
};

using Variables = std::vector<VariableId>;
using Settings = std::vector<std::pair<std::string, AttributeValue>>;

// Larger settings than any real network's are refused, so that products of two do not overflow.
inline constexpr std::int64_t kMaxSetting = std::int64_t{1} << 31;

// One call of one layer: what its lowering reads of the config, and what it makes of it.
class Call {
 public:
  // `layer` is the layer as the file has it, `path` the names of the networks around it and its own; `suffix` tells a
  // second call from the first.
  Call(Network& network, const Json& layer, std::string path, std::string suffix, Arguments arguments);

  [[nodiscard]] const std::string& class_name() const { return class_name_; }
  [[nodiscard]] const Json& config() const { return config_; }
  [[nodiscard]] DType compute_dtype() const { return compute_dtype_; }

  // Settings of the config. Where it has none: `fallback`, or an error for those without.
  [[nodiscard]] bool has(std::string_view key) const;  // present and not null
  [[nodiscard]] bool flag(std::string_view key, bool fallback) const;
  [[nodiscard]] std::int64_t integer(std::string_view key) const;
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t fallback) const;
  [[nodiscard]] std::int64_t size(std::string_view key) const;  // 1 to kMaxSetting
  [[nodiscard]] double real(std::string_view key, double fallback) const;
  [[nodiscard]] std::string text(std::string_view key, std::string_view fallback) const;
  // One number for all, or a list of `count`; all `fallback` where there is none. From `smallest` to kMaxSetting.
  [[nodiscard]] Shape sizes(std::string_view key, std::size_t count, std::int64_t fallback,
                            std::int64_t smallest = 1) const;
  [[nodiscard]] Shape integers(const Json& json) const;  // one number, or a list of any length
  [[nodiscard]] bool channels_last() const;

  // The arguments of the call.
  [[nodiscard]] VariableId input() const;         // the first tensor
  [[nodiscard]] const Variables& inputs() const;  // the tensors of the first argument
  [[nodiscard]] const Arguments& arguments() const { return arguments_; }
  // Argument `name`, or the one at `position`; nullptr where neither is given or it is null.
  [[nodiscard]] const Argument* argument(std::string_view name, std::size_t position) const;
  [[nodiscard]] VariableId tensor(std::string_view name, std::size_t position) const;  // kAbsent where there is none

  // Sizes, kUnknownSize where the file leaves them open; throws where the rank is unknown.
  [[nodiscard]] Shape shape(VariableId variable) const;
  [[nodiscard]] DType dtype(VariableId variable) const;
  [[nodiscard]] std::size_t rank(VariableId variable) const { return shape(variable).size(); }
  [[nodiscard]] std::size_t axis(std::int64_t axis, std::size_t rank) const;  // non-negative; throws outside
  // A size that must be known; `what` says what for.
  [[nodiscard]] std::int64_t known_size(VariableId variable, std::size_t axis) const;
  [[nodiscard]] std::size_t channel_axis(VariableId variable) const;
  // Throws where it is no batch of images of `count` dimensions with channels.
  void check_image(VariableId variable, std::size_t count) const;

  // A weight of this layer under its name in Keras; the same one at every call.
  VariableId weight(const std::string& name, const Shape& shape, bool is_trained = true);
  // The same in the precision in which it is kept: normalisations do not take the compute type.
  VariableId kept_weight(const std::string& name, const Shape& shape, bool is_trained = true);
  VariableId scalar(double value, DType dtype = DType::undefined);  // undefined: the compute type
  VariableId integers(const std::vector<std::int64_t>& values);
  VariableId constant(DType dtype, const Shape& shape);  // numbers of the config that no size depends on

  // One operator: its first result, or all `count` of them. `part` tells the operators of one layer apart.
  VariableId make(OperatorId op, Variables inputs, Settings settings = {}, std::string_view part = "");
  Variables make_several(OperatorId op, Variables inputs, std::size_t count, Settings settings,
                         std::string_view part = "");
  VariableId reshape(VariableId x, std::vector<std::int64_t> target, std::string_view part = "reshape");
  VariableId transpose(VariableId x, std::vector<std::int64_t> order, std::string_view part = "transpose");
  VariableId cast(VariableId x, DType dtype);
  // The function of setting `key` on `x`; the same for a function by its name.
  VariableId activate(VariableId x, std::string_view key = "activation");
  VariableId apply_function(VariableId x, std::string_view name);

  // Layers take real numbers in their compute type, whatever type they come in.
  void cast_inputs();

  // A layer inside this one, called on `arguments`.
  Variables call_inner(const Json& layer, const std::string& name, Arguments arguments);
  // The calls of a layer inside this one that takes its config as its own.
  [[nodiscard]] Call inner(const Json& layer, const std::string& name) const;

  void warn(const std::string& message) const;
  [[noreturn]] void fail(const std::string& what) const;         // the file contradicts itself
  [[noreturn]] void unsupported(const std::string& what) const;  // Keras itself might know
  [[noreturn]] void unknown_setting(std::string_view key, std::string_view value,
                                    const std::vector<std::string>& valid) const;
  [[nodiscard]] Network& network() const { return network_; }

 private:
  VariableId stored(const std::string& name, DType dtype, const Shape& shape, bool is_trained);

  Network& network_;
  const Json& layer_;
  const Json& config_;
  std::string class_name_;
  std::string path_;
  std::string suffix_;
  Arguments arguments_;
  DType compute_dtype_ = DType::float32;
  DType variable_dtype_ = DType::float32;
  bool is_counted_ = false;
};

// How a layer class becomes operators: its results.
using Lower = Variables (*)(Call&);

struct LayerRow {
  std::string_view class_name;
  Lower lower;
};

// A function of TensorFlow called on symbolic tensors, as Keras 2 stores it: the operation of the same meaning.
[[nodiscard]] Variables call_function(Call& call, const std::string& function);

// One table for each file of layers; keras_layers.cpp looks a class up.
[[nodiscard]] const std::vector<LayerRow>& activation_layers();
[[nodiscard]] const std::vector<LayerRow>& attention_layers();
[[nodiscard]] const std::vector<LayerRow>& convolution_layers();
[[nodiscard]] const std::vector<LayerRow>& dense_layers();
[[nodiscard]] const std::vector<LayerRow>& merging_layers();
[[nodiscard]] const std::vector<LayerRow>& normalization_layers();
[[nodiscard]] const std::vector<LayerRow>& pooling_layers();
[[nodiscard]] const std::vector<LayerRow>& recurrent_layers();
[[nodiscard]] const std::vector<LayerRow>& reshaping_layers();
[[nodiscard]] const std::vector<LayerRow>& wrapping_layers();
[[nodiscard]] const std::vector<LayerRow>& operation_layers();  // keras.ops called on symbolic tensors

}  // namespace latpred::readers::keras
