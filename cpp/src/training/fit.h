#pragma once

#include <ATen/core/Generator.h>

#include "batch/row_batch.h"
#include "predictors/mlp.h"
#include "training/fit_options.h"

namespace latpred {

// Trains `mlp` with Adam on the Huber loss of the scaled targets. Rows are shuffled by `generator` in every epoch.
[[nodiscard]] FitReport fit(Mlp& mlp, const RowBatch& batch, const FitOptions& options, at::Generator generator);

}  // namespace latpred
