#pragma once

#include <string>

#include "predictors/transformer.h"
#include "training/named_arrays.h"

namespace latpred {

// Parameters and scales of a module as arrays, and back; names and shapes that do not fit are refused.
void store(const Transformer& module, NamedArrays& arrays);
void restore(const NamedArrays& arrays, Transformer& module);

// One array that is laid out as the module's parameters (a moment of Adam), with `prefix` before each name.
void store_values(const TransformerLayout& layout, const float* values, const std::string& prefix, NamedArrays& arrays);
void restore_values(const NamedArrays& arrays, const TransformerLayout& layout, const std::string& prefix,
                    float* values);

}  // namespace latpred
