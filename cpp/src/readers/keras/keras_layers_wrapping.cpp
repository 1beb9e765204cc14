#include <utility>

#include "latpred/text.h"
#include "readers/keras/keras_network.h"

namespace latpred::readers::keras {
namespace {

// What changes nothing at inference: dropout, noise, penalties, augmentation of training images.
Variables pass(Call& call) { return call.inputs(); }

// Steps whose features are all the mask value count as nothing: x times whether any differs.
Variables masking(Call& call) {
  const VariableId x = call.input();
  call.warn("masks (mask_zero, Masking) are left out of what later layers compute");
  const VariableId value = call.scalar(call.real("mask_value", 0), call.dtype(x));
  const VariableId same = call.make(OperatorId::equal, {x, value}, {}, "equal");
  const VariableId differs = call.make(OperatorId::logical_not, {same}, {}, "not");
  const VariableId any = call.make(OperatorId::reduce_max, {call.cast(differs, call.dtype(x))},
                                   {{"axes", Shape{-1}}, {"keepdims", std::int64_t{1}}}, "any");
  return {call.make(OperatorId::mul, {x, any})};
}

// The layer on every step at once: steps are put into the batch and taken out again.
Variables time_distributed(Call& call) {
  const VariableId x = call.input();
  const Shape shape = call.shape(x);
  if (shape.size() < 3) call.fail(concat("its input has ", shape.size(), " dimensions, expected at least 3"));
  Shape folded{-1};
  for (std::size_t i = 2; i < shape.size(); ++i) folded.push_back(call.known_size(x, i));
  const Json& layer = call.config().at("layer");
  Arguments arguments;
  arguments.positional.push_back({.tensors = {call.reshape(x, folded, "steps")}});
  const Variables results = call.call_inner(layer, name_of(layer), std::move(arguments));
  if (results.size() != 1) call.fail(concat("its layer has ", results.size(), " results"));
  const Shape made = call.shape(results[0]);
  Shape unfolded{-1, shape[1]};
  for (std::size_t i = 1; i < made.size(); ++i) unfolded.push_back(call.known_size(results[0], i));
  if (shape[1] >= 0) return {call.reshape(results[0], unfolded, "")};
  // An open number of steps: the shape of the input says it.
  unfolded.erase(unfolded.begin(), unfolded.begin() + 2);
  const VariableId sizes = call.make(OperatorId::shape, {x}, {}, "shape");
  const VariableId leading = call.make(OperatorId::slice, {sizes}, {{"starts", Shape{0}}, {"ends", Shape{2}}}, "slice");
  const VariableId target =
      call.make(OperatorId::concat, {leading, call.integers(unfolded)}, {{"axis", std::int64_t{0}}}, "target");
  return {call.make(OperatorId::reshape, {results[0], target})};
}

// The weight is divided by its largest singular value while training; inference is the layer itself.
Variables spectral_normalization(Call& call) {
  const Json& layer = call.config().at("layer");
  return call.call_inner(layer, name_of(layer), call.arguments());
}

// Keras 2's operators on symbolic tensors: what they call is one of keras.ops under another name.
Variables function_call(Call& call) { return call_function(call, call.text("function", "")); }

Variables slicing_call(Call& call) { return call_function(call, "__operators__.getitem"); }

}  // namespace

const std::vector<LayerRow>& wrapping_layers() {
  static const std::vector<LayerRow> rows{
      {"Dropout", pass},
      {"AlphaDropout", pass},
      {"GaussianDropout", pass},
      {"GaussianNoise", pass},
      {"SpatialDropout1D", pass},
      {"SpatialDropout2D", pass},
      {"SpatialDropout3D", pass},
      {"StochasticDepth", pass},
      {"ActivityRegularization", pass},
      {"Identity", pass},
      {"AugMix", pass},
      {"CutMix", pass},
      {"MixUp", pass},
      {"RandAugment", pass},
      {"RandomBrightness", pass},
      {"RandomColorDegeneration", pass},
      {"RandomColorJitter", pass},
      {"RandomContrast", pass},
      {"RandomElasticTransform", pass},
      {"RandomErasing", pass},
      {"RandomFlip", pass},
      {"RandomGaussianBlur", pass},
      {"RandomGrayscale", pass},
      {"RandomHue", pass},
      {"RandomInvert", pass},
      {"RandomPerspective", pass},
      {"RandomPosterization", pass},
      {"RandomRotation", pass},
      {"RandomSaturation", pass},
      {"RandomSharpness", pass},
      {"RandomShear", pass},
      {"RandomTranslation", pass},
      {"RandomZoom", pass},
      {"Masking", masking},
      {"TimeDistributed", time_distributed},
      {"SpectralNormalization", spectral_normalization},
      {"TFOpLambda", function_call},
      {"SlicingOpLambda", slicing_call},
  };
  return rows;
}

}  // namespace latpred::readers::keras
