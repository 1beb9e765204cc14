#include "latpred/predict_request.h"

#include "latpred/error.h"
#include "latpred/text.h"
#include "units.h"

namespace latpred {

const Device& asked_device(const PredictRequest& request) {
  return request.host && request.device == kHostDevice ? *request.host : device(request.device);
}

const Runtime& asked_runtime(const PredictRequest& request, const Device& device) {
  const Runtime& row = runtime(request.runtime.empty() ? "eager" : request.runtime);
  if (device.is_gpu ? row.on_gpu : row.on_cpu) return row;
  std::vector<std::string> valid;
  for (const Runtime& other : runtimes()) {
    if (device.is_gpu ? other.on_gpu : other.on_cpu) valid.emplace_back(other.name);
  }
  throw InvalidArgumentError(concat("runtime '", row.name, "' does not run on ", device.is_gpu ? "GPUs" : "CPUs",
                                    " and device '", device.name, "' is one; valid here: ", join(valid)),
                             {.valid = valid});
}

void check_units(const PredictRequest& request, const Device& device, const Runtime& runtime) {
  const Precision& precision = precision_of(runtime, request.precision);
  if (precision.by_runtime) return;  // "default" means what the runtime does on this device
  for (const Arithmetic arithmetic : {precision.convolution, precision.matmul}) {
    if (has_units(device, arithmetic)) continue;
    std::vector<std::string> valid{"default"};
    for (const Precision& row : precisions()) {
      if (!row.by_runtime && has_units(device, row.convolution) && has_units(device, row.matmul)) {
        valid.emplace_back(row.name);
      }
    }
    throw InvalidArgumentError(
        concat("device '", device.name, "' has no ", arithmetic_name(arithmetic), " arithmetic, which precision '",
               precision.name, "' needs; it takes ", join(valid)),
        {.valid = valid});
  }
}

}  // namespace latpred
