#include <limits>

#include "latpred/operators.h"
#include "latpred/text.h"
#include "readers/keras/keras_network.h"

namespace latpred::readers::keras {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// One function of Keras: an operator and its settings.
struct ActivationRow {
  std::string_view name;
  VariableId (*apply)(Call& call, VariableId x);
};

template <OperatorId kOp>
VariableId plain(Call& call, VariableId x) {
  return call.make(kOp, {x}, {}, operator_row(kOp).name);
}

template <OperatorId kOp>
VariableId along_last(Call& call, VariableId x) {
  return call.make(kOp, {x}, {{"axis", std::int64_t{-1}}}, operator_row(kOp).name);
}

VariableId clipped(Call& call, VariableId x, double low, double high) {
  Settings settings;
  if (low != -kInfinity) settings.emplace_back("min", low);
  if (high != kInfinity) settings.emplace_back("max", high);
  return call.make(OperatorId::clip, {x}, std::move(settings), "clip");
}

VariableId linear(Call&, VariableId x) { return x; }
VariableId relu6(Call& call, VariableId x) { return clipped(call, x, 0, 6); }
VariableId hard_tanh(Call& call, VariableId x) { return clipped(call, x, -1, 1); }
VariableId leaky_relu(Call& call, VariableId x) {
  return call.make(OperatorId::leaky_relu, {x}, {{"alpha", 0.2}}, "leaky_relu");  // Keras's default slope
}
VariableId log_sigmoid(Call& call, VariableId x) {
  return call.make(OperatorId::log, {plain<OperatorId::sigmoid>(call, x)}, {}, "log");
}
VariableId tanh_shrink(Call& call, VariableId x) {
  return call.make(OperatorId::sub, {x, plain<OperatorId::tanh>(call, x)}, {}, "sub");
}
// (x + sqrt(x^2 + 4)) / 2
VariableId squareplus(Call& call, VariableId x) {
  const VariableId squared = call.make(OperatorId::mul, {x, x}, {}, "square");
  const VariableId shifted = call.make(OperatorId::add, {squared, call.scalar(4)}, {}, "shift");
  const VariableId root = call.make(OperatorId::sqrt, {shifted}, {}, "sqrt");
  const VariableId sum = call.make(OperatorId::add, {x, root}, {}, "add");
  return call.make(OperatorId::div, {sum, call.scalar(2)}, {}, "div");
}
// Two halves of the last dimension.
VariableId glu(Call& call, VariableId x) {
  const Variables halves = call.make_several(OperatorId::split, {x}, 2, {{"axis", std::int64_t{-1}}}, "split");
  return call.make(OperatorId::mul, {halves[0], plain<OperatorId::sigmoid>(call, halves[1])}, {}, "mul");
}

constexpr ActivationRow kActivations[] = {
    {"linear", linear},
    {"relu", plain<OperatorId::relu>},
    {"relu6", relu6},
    {"leaky_relu", leaky_relu},
    {"elu", plain<OperatorId::elu>},
    {"selu", plain<OperatorId::selu>},
    {"celu", plain<OperatorId::celu>},
    {"gelu", plain<OperatorId::gelu>},
    {"silu", plain<OperatorId::silu>},
    {"swish", plain<OperatorId::silu>},
    {"hard_silu", plain<OperatorId::hard_swish>},
    {"hard_swish", plain<OperatorId::hard_swish>},
    {"sigmoid", plain<OperatorId::sigmoid>},
    {"hard_sigmoid", plain<OperatorId::hard_sigmoid>},
    {"log_sigmoid", log_sigmoid},
    {"tanh", plain<OperatorId::tanh>},
    {"hard_tanh", hard_tanh},
    {"tanh_shrink", tanh_shrink},
    {"hard_shrink", plain<OperatorId::shrink>},
    {"soft_shrink", plain<OperatorId::shrink>},
    {"threshold", plain<OperatorId::thresholded_relu>},
    {"softplus", plain<OperatorId::softplus>},
    {"softsign", plain<OperatorId::softsign>},
    {"mish", plain<OperatorId::mish>},
    {"exponential", plain<OperatorId::exp>},
    {"squareplus", squareplus},
    {"glu", glu},
    {"softmax", along_last<OperatorId::softmax>},
    {"log_softmax", along_last<OperatorId::log_softmax>},
};

// max_value, slope of the negative side (under its two names) and threshold.
Variables relu(Call& call) {
  const VariableId x = call.input();
  const double slope = call.real("negative_slope", call.real("alpha", 0));
  const double threshold = call.real("threshold", 0);
  const bool has_maximum = call.has("max_value");
  if (threshold != 0) call.unsupported("a threshold other than 0 is not read");
  if (slope != 0) {
    const VariableId result = call.make(OperatorId::leaky_relu, {x}, {{"alpha", slope}});
    return {has_maximum ? clipped(call, result, -kInfinity, call.real("max_value", 0)) : result};
  }
  if (!has_maximum) return {call.make(OperatorId::relu, {x})};
  return {call.make(OperatorId::clip, {x}, {{"min", 0.0}, {"max", call.real("max_value", 0)}})};
}

Variables leaky_relu_layer(Call& call) {
  const double slope = call.real("negative_slope", call.real("alpha", 0.3));  // the layer's default
  return {call.make(OperatorId::leaky_relu, {call.input()}, {{"alpha", slope}})};
}

// One slope for each element of a sample but along the shared axes.
Variables prelu(Call& call) {
  const VariableId x = call.input();
  Shape shape = call.shape(x);
  if (shape.empty()) call.fail("its input has no dimension");
  shape.erase(shape.begin());
  Shape shared;
  if (call.has("shared_axes")) shared = call.integers(call.config().at("shared_axes"));
  for (const std::int64_t axis : shared) {
    if (axis < 1 || axis > static_cast<std::int64_t>(shape.size()))
      call.fail(concat("has no axis ", axis, " to share"));
    shape[static_cast<std::size_t>(axis) - 1] = 1;
  }
  const VariableId slope = call.weight("alpha", shape);
  return {call.make(OperatorId::prelu, {x, slope}, {{"channels_last", std::int64_t{1}}})};
}

Variables elu(Call& call) { return {call.make(OperatorId::elu, {call.input()}, {{"alpha", call.real("alpha", 1)}})}; }

Variables softmax(Call& call) {
  const VariableId x = call.input();
  const Shape axes = call.has("axis") ? call.integers(call.config().at("axis")) : Shape{-1};
  if (axes.size() != 1) call.unsupported("a softmax over several axes is not read");
  if (call.tensor("mask", 1) != kAbsent) {
    const VariableId masked =
        call.make(OperatorId::add, {x, call.cast(call.tensor("mask", 1), call.dtype(x))}, {}, "mask");
    return {call.make(OperatorId::softmax, {masked}, {{"axis", axes[0]}})};
  }
  return {call.make(OperatorId::softmax, {x}, {{"axis", axes[0]}})};
}

Variables thresholded_relu(Call& call) {
  return {call.make(OperatorId::thresholded_relu, {call.input()}, {{"alpha", call.real("theta", 1)}})};
}

Variables activation(Call& call) { return {call.activate(call.input())}; }

}  // namespace

VariableId Call::apply_function(VariableId x, std::string_view name) {
  std::vector<std::string> valid;
  for (const ActivationRow& row : kActivations) {
    if (row.name == name) return row.apply(*this, x);
    valid.emplace_back(row.name);
  }
  unknown_setting("activation", name, valid);
}

// A name; a registered function {"class_name": "function", "config": name}; a layer.
VariableId Call::activate(VariableId x, std::string_view key) {
  if (!has(key)) return x;
  const Json& function = config_.at(key);
  if (function.is_text()) return apply_function(x, function.text());
  const Json& config = function.at("config");
  if (class_of(function) == "function" && config.is_text() && is_of_keras(function)) {
    return apply_function(x, config.text());
  }
  Arguments arguments;
  arguments.positional.push_back({.tensors = {x}});
  const Variables results = call_inner(function, std::string(key), std::move(arguments));
  if (results.size() != 1) fail(concat("its activation has ", results.size(), " results"));
  return results.front();
}

const std::vector<LayerRow>& activation_layers() {
  static const std::vector<LayerRow> rows{
      {"Activation", activation},
      {"ReLU", relu},
      {"LeakyReLU", leaky_relu_layer},
      {"PReLU", prelu},
      {"ELU", elu},
      {"Softmax", softmax},
      {"ThresholdedReLU", thresholded_relu},
  };
  return rows;
}

}  // namespace latpred::readers::keras
