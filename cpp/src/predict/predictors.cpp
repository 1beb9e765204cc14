#include "predictors.h"

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred {
namespace {

// Best first: the first row is what predict() takes when no predictor is named.
const std::vector<PredictorRow> kPredictors{
    {"kernel_residual", "physics of each kernel times an inverse efficiency learnt from its shape, end to end",
     "kernel_residual.safetensors", make_kernel_residual},
    {"analytic", "roofline of each kernel times an inverse efficiency fitted for its kind and arithmetic",
     "analytic.safetensors", make_analytic},
    {"linear", "weighted sum of FLOPs, activation bytes, weight bytes and launches", "linear.safetensors", make_linear},
    {"roofline", "each kernel at the device's peak or bandwidth, whichever takes longer", "roofline.safetensors",
     make_roofline},
};

}  // namespace

const std::vector<PredictorRow>& predictors() { return kPredictors; }

const PredictorRow& predictor_row(std::string_view name) {
  std::vector<std::string> valid;
  for (const PredictorRow& row : kPredictors) {
    if (row.name == name) return row;
    valid.emplace_back(row.name);
  }
  throw InvalidArgumentError(unknown_name_message("predictor", name, valid), {.valid = valid});
}

}  // namespace latpred
