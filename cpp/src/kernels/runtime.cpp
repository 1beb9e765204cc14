#include "latpred/runtime.h"

#include <algorithm>

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred {
namespace {

constexpr std::string_view kEagerHost =
    "about 20 us for one eager operator (NVIDIA's Nsight guide, V100 host); hosts differ by a factor of two";
constexpr std::string_view kCompiledHost =
    "16 to 19 us for one kernel that PyTorch 2.4's compiled code launches: timm's smallest networks on an RTX 4090, "
    "whatever their size";
constexpr std::string_view kLaunchHost = "2.5 to 6 us for one launch by the CUDA driver, measured on several hosts";

const std::vector<Runtime> kRuntimes{
    {"eager",
     "PyTorch, operator by operator",
     false,
     false,
     true,
     false,
     true,
     true,
     20e-6,
     kEagerHost,
     Arithmetic::tf32,
     Arithmetic::fp32,
     {"fp32", "tf32", "amp", "fp16", "bf16"}},
    {"compiled",
     "torch.compile: point-wise chains fused, convolutions and products kept",
     true,
     true,
     true,
     false,
     true,
     true,
     16e-6,
     kCompiledHost,
     Arithmetic::tf32,
     Arithmetic::fp32,
     {"fp32", "tf32", "amp", "fp16", "bf16"}},
    {"tensorrt",
     "TensorRT engine",
     true,
     false,
     false,
     true,
     true,
     false,
     4e-6,
     kLaunchHost,
     Arithmetic::tf32,
     Arithmetic::tf32,
     {"fp32", "tf32", "fp16", "bf16", "int8"}},
    {"onnxruntime",
     "ONNX Runtime, CUDA or CPU provider",
     true,
     false,
     false,
     false,
     true,
     true,
     6e-6,
     kLaunchHost,
     Arithmetic::tf32,
     Arithmetic::tf32,
     {"fp32", "tf32", "fp16", "int8"}},
    {"openvino",
     "OpenVINO on a CPU",
     true,
     false,
     false,
     true,
     false,
     true,
     2e-6,
     "about 2 us between kernels of a compiled network",
     Arithmetic::fp32,
     Arithmetic::fp32,
     {"fp32", "bf16", "int8"}},
    {"kernel",
     "single kernels timed inside a CUDA graph: no host",
     false,
     false,
     true,
     false,
     true,
     false,
     0,
     "launches are replayed by the device",
     Arithmetic::tf32,
     Arithmetic::fp32,
     {"fp32", "tf32", "amp", "fp16", "bf16", "int8"}},
};

}  // namespace

const std::vector<Runtime>& runtimes() { return kRuntimes; }

const Runtime& runtime(std::string_view name) {
  std::vector<std::string> valid;
  for (const Runtime& row : kRuntimes) {
    if (row.name == name) return row;
    valid.emplace_back(row.name);
  }
  throw InvalidArgumentError(unknown_name_message("runtime", name, valid), {.valid = valid});
}

const Precision& precision_of(const Runtime& runtime, std::string_view name) {
  const Precision& row = precision(name);
  if (row.by_runtime) return row;
  if (std::find(runtime.precisions.begin(), runtime.precisions.end(), name) == runtime.precisions.end()) {
    std::vector<std::string> valid{"default"};
    valid.insert(valid.end(), runtime.precisions.begin(), runtime.precisions.end());
    throw InvalidArgumentError(
        concat("runtime '", runtime.name, "' does not run at precision '", name, "'; it takes ", join(valid)),
        {.valid = valid});
  }
  return row;
}

}  // namespace latpred
