#include <algorithm>
#include <utility>

#include "latpred/text.h"
#include "readers/keras/keras_network.h"

namespace latpred::readers::keras {
namespace {

Shape axes_of(const Call& call, std::size_t rank, const Shape& fallback) {
  const Json* axis = call.config().find("axis");
  Shape axes = axis == nullptr || axis->is_null() ? fallback : call.integers(*axis);
  for (std::int64_t& one : axes) one = static_cast<std::int64_t>(call.axis(one, rank));
  std::sort(axes.begin(), axes.end());
  return axes;
}

// Moving averages are no trained weights. Scale and centre are there by choice.
Variables batch_norm(Call& call) {
  const VariableId x = call.input();
  const std::size_t rank = call.rank(x);
  const Shape axes = axes_of(call, rank, {-1});
  if (axes.size() != 1) call.unsupported("normalising over several axes is not read");
  const auto axis = static_cast<std::size_t>(axes[0]);
  if (axis != 1 && axis + 1 != rank) call.unsupported(concat("axis ", axis, " of ", rank, " dimensions is not read"));
  const Shape channels{call.known_size(x, axis)};
  const VariableId scale = call.flag("scale", true) ? call.kept_weight("gamma", channels) : kAbsent;
  const VariableId bias = call.flag("center", true) ? call.kept_weight("beta", channels) : kAbsent;
  const VariableId mean = call.kept_weight("moving_mean", channels, false);
  const VariableId variance = call.kept_weight("moving_variance", channels, false);
  Settings settings{{"epsilon", call.real("epsilon", 1e-3)},
                    {"channels_last", std::int64_t{axis + 1 == rank && rank > 2}}};
  return {call.make(OperatorId::batch_norm, {x, scale, bias, mean, variance}, std::move(settings))};
}

// Axes that are the last ones, as the operator has it.
Variables layer_norm(Call& call) {
  const VariableId x = call.input();
  const std::size_t rank = call.rank(x);
  const Shape axes = axes_of(call, rank, {-1});
  Shape shape;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != static_cast<std::int64_t>(rank - axes.size() + i)) {
      call.unsupported(concat("axes ", shape_text(axes), " that are not the last ones are not read"));
    }
    shape.push_back(call.known_size(x, static_cast<std::size_t>(axes[i])));
  }
  if (axes.empty()) call.fail("has no axis");
  const bool is_rms = call.flag("rms_scaling", false);
  Variables inputs{x, call.flag("scale", true) || is_rms ? call.kept_weight("gamma", shape) : kAbsent};
  if (call.flag("center", true) && !is_rms) inputs.push_back(call.kept_weight("beta", shape));
  return {call.make(is_rms ? OperatorId::rms_norm : OperatorId::layer_norm, std::move(inputs),
                    {{"axis", axes[0]}, {"epsilon", call.real("epsilon", 1e-3)}})};
}

Variables rms_norm(Call& call) {
  const VariableId x = call.input();
  const Shape axes = axes_of(call, call.rank(x), {-1});
  if (axes.size() != 1 || axes[0] + 1 != static_cast<std::int64_t>(call.rank(x))) {
    call.unsupported(concat("axes ", shape_text(axes), " that are not the last one are not read"));
  }
  const VariableId scale = call.kept_weight("scale", {call.known_size(x, static_cast<std::size_t>(axes[0]))});
  return {call.make(OperatorId::rms_norm, {x, scale}, {{"axis", axes[0]}, {"epsilon", call.real("epsilon", 1e-6)}})};
}

Variables group_norm(Call& call) {
  const VariableId x = call.input();
  const std::size_t rank = call.rank(x);
  const Shape axes = axes_of(call, rank, {-1});
  const auto axis = static_cast<std::size_t>(axes.at(0));
  if (axes.size() != 1 || (axis != 1 && axis + 1 != rank)) {
    call.unsupported(concat("axes ", shape_text(axes), " of ", rank, " dimensions are not read"));
  }
  const std::int64_t channels = call.known_size(x, axis);
  const std::int64_t groups = call.integer("groups", 32) == -1 ? channels : call.integer("groups", 32);
  Variables inputs{x, call.flag("scale", true) ? call.kept_weight("gamma", {channels}) : kAbsent};
  if (call.flag("center", true)) inputs.push_back(call.kept_weight("beta", {channels}));
  return {call.make(OperatorId::group_norm, std::move(inputs),
                    {{"num_groups", groups},
                     {"epsilon", call.real("epsilon", 1e-3)},
                     {"channels_last", std::int64_t{axis + 1 == rank && rank > 2}}})};
}

Variables unit_norm(Call& call) {
  const VariableId x = call.input();
  const Shape axes = axes_of(call, call.rank(x), {-1});
  if (axes.size() != 1) call.unsupported("normalising over several axes is not read");
  return {call.make(OperatorId::lp_norm, {x}, {{"axis", axes[0]}, {"p", std::int64_t{2}}})};
}

// (x - mean) / deviation, both stored, or given with the layer.
Variables normalization(Call& call) {
  const VariableId x = call.input();
  const std::size_t rank = call.rank(x);
  const Shape axes = axes_of(call, rank, {});
  Shape shape(rank, 1);
  for (const std::int64_t axis : axes) {
    shape[static_cast<std::size_t>(axis)] = call.known_size(x, static_cast<std::size_t>(axis));
  }
  const VariableId mean = call.weight("mean", shape, false);
  const VariableId deviation = call.weight("variance", shape, false);
  if (call.flag("invert", false)) {
    const VariableId scaled = call.make(OperatorId::mul, {x, deviation});
    return {call.make(OperatorId::add, {scaled, mean}, {}, "add")};
  }
  const VariableId centred = call.make(OperatorId::sub, {x, mean});
  return {call.make(OperatorId::div, {centred, deviation}, {}, "div")};
}

// Numbers, or one for each channel.
VariableId constant_of(Call& call, const std::string& key, double fallback) {
  const Json* value = call.config().find(key);
  if (value == nullptr || value->is_null()) return call.scalar(fallback);
  if (value->is_number()) return call.scalar(value->number());
  const Json* inner = value->is_object() ? value->at("config").find("value") : value;
  if (inner == nullptr || !inner->is_array()) call.fail(concat("'", key, "' is neither a number nor a list"));
  return call.weight(key, {static_cast<std::int64_t>(inner->array().size())}, false);
}

Variables rescaling(Call& call) {
  const VariableId scaled = call.make(OperatorId::mul, {call.input(), constant_of(call, "scale", 1)});
  return {call.make(OperatorId::add, {scaled, constant_of(call, "offset", 0)}, {}, "add")};
}

// ConvNeXt's and Inception-ResNet's own layers.
Variables layer_scale(Call& call) {
  return {call.make(OperatorId::mul, {call.input(), call.weight("gamma", {call.size("projection_dim")})})};
}

Variables custom_scale(Call& call) {
  const Variables& inputs = call.inputs();
  if (inputs.size() != 2) call.fail(concat("is called on ", inputs.size(), " tensors, expected 2"));
  const VariableId scaled = call.make(OperatorId::mul, {inputs[1], call.scalar(call.real("scale", 1))});
  return {call.make(OperatorId::add, {inputs[0], scaled}, {}, "add")};
}

}  // namespace

const std::vector<LayerRow>& normalization_layers() {
  static const std::vector<LayerRow> rows{
      {"BatchNormalization", batch_norm}, {"LayerNormalization", layer_norm}, {"RMSNormalization", rms_norm},
      {"GroupNormalization", group_norm}, {"UnitNormalization", unit_norm},   {"Normalization", normalization},
      {"Rescaling", rescaling},           {"LayerScale", layer_scale},        {"CustomScaleLayer", custom_scale},
  };
  return rows;
}

}  // namespace latpred::readers::keras
