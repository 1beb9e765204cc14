#include "training/transformer_arrays.h"

#include <algorithm>

namespace latpred {
namespace {

const std::string kTokenMean = "token_mean";
const std::string kTokenDeviation = "token_deviation";

}  // namespace

void store_values(const TransformerLayout& layout, const float* values, const std::string& prefix,
                  NamedArrays& arrays) {
  for (const TransformerLayout::Slot& slot : layout.slots) {
    const float* begin = values + slot.offset;
    arrays[prefix + slot.name] = {slot.shape, std::vector<double>(begin, begin + slot.size())};
  }
}

void restore_values(const NamedArrays& arrays, const TransformerLayout& layout, const std::string& prefix,
                    float* values) {
  for (const TransformerLayout::Slot& slot : layout.slots) {
    const NamedArray& array = array_of(arrays, prefix + slot.name, slot.shape);
    std::ranges::transform(array.values, values + slot.offset, [](double value) { return static_cast<float>(value); });
  }
}

void store(const Transformer& module, NamedArrays& arrays) {
  store_values(module.layout(), module.values().const_data_ptr<float>(), "", arrays);
  const TokenScale& scale = module.scale();
  arrays[kTokenMean] = {{kNodeAttributes}, scale.mean};
  arrays[kTokenDeviation] = {{kNodeAttributes}, scale.deviation};
  arrays[kTargetMean] = {{}, {scale.target_mean}};
  arrays[kTargetDeviation] = {{}, {scale.target_deviation}};
}

void restore(const NamedArrays& arrays, Transformer& module) {
  TokenScale scale;
  scale.is_logarithmic = module.config().is_logarithmic();
  scale.mean = array_of(arrays, kTokenMean, {kNodeAttributes}).values;
  scale.deviation = array_of(arrays, kTokenDeviation, {kNodeAttributes}).values;
  scale.target_mean = number_of(arrays, kTargetMean);
  scale.target_deviation = number_of(arrays, kTargetDeviation);
  // All is looked at before any of it is taken.
  std::vector<float> values(static_cast<std::size_t>(module.values().numel()));
  restore_values(arrays, module.layout(), "", values.data());
  std::ranges::copy(values, module.values().mutable_data_ptr<float>());
  module.set_scale(scale);
}

}  // namespace latpred
