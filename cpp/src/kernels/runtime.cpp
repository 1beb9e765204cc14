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
    {.name = "eager",
     .description = "PyTorch, operator by operator",
     .fuses = false,
     .fuses_shared = false,
     .strided_views = true,
     .pads_sizes = false,
     .on_gpu = true,
     .on_cpu = true,
     .host_s_per_launch = 20e-6,
     .host_source = kEagerHost,
     .default_convolution = Arithmetic::tf32,
     .default_matmul = Arithmetic::fp32,
     .precisions = {"fp32", "tf32", "amp", "fp16", "bf16"}},
    {.name = "compiled",
     .description = "torch.compile: point-wise chains fused, convolutions and products kept",
     .fuses = true,
     .fuses_shared = true,
     .strided_views = true,
     .pads_sizes = false,
     .on_gpu = true,
     .on_cpu = true,
     .host_s_per_launch = 16e-6,
     .host_source = kCompiledHost,
     .default_convolution = Arithmetic::tf32,
     .default_matmul = Arithmetic::fp32,
     .precisions = {"fp32", "tf32", "amp", "fp16", "bf16"}},
    {.name = "tensorrt",
     .description = "TensorRT engine",
     .fuses = true,
     .fuses_shared = false,
     .strided_views = false,
     .pads_sizes = true,
     .on_gpu = true,
     .on_cpu = false,
     .host_s_per_launch = 4e-6,
     .host_source = kLaunchHost,
     .default_convolution = Arithmetic::tf32,
     .default_matmul = Arithmetic::tf32,
     .precisions = {"fp32", "tf32", "fp16", "bf16", "int8"}},
    {.name = "onnxruntime",
     .description = "ONNX Runtime, CUDA or CPU provider",
     .fuses = true,
     .fuses_shared = false,
     .strided_views = false,
     .pads_sizes = false,
     .on_gpu = true,
     .on_cpu = true,
     .host_s_per_launch = 6e-6,
     .host_source = kLaunchHost,
     .default_convolution = Arithmetic::tf32,
     .default_matmul = Arithmetic::tf32,
     .precisions = {"fp32", "tf32", "fp16", "int8"}},
    {.name = "openvino",
     .description = "OpenVINO on a CPU",
     .fuses = true,
     .fuses_shared = false,
     .strided_views = false,
     .pads_sizes = true,
     .on_gpu = false,
     .on_cpu = true,
     .host_s_per_launch = 2e-6,
     .host_source = "about 2 us between kernels of a compiled network",
     .default_convolution = Arithmetic::fp32,
     .default_matmul = Arithmetic::fp32,
     .precisions = {"fp32", "bf16", "int8"}},
    {.name = "kernel",
     .description = "single kernels timed inside a CUDA graph: no host",
     .fuses = false,
     .fuses_shared = false,
     .strided_views = true,
     .pads_sizes = false,
     .on_gpu = true,
     .on_cpu = false,
     .host_s_per_launch = 0,
     .host_source = "launches are replayed by the device",
     .default_convolution = Arithmetic::tf32,
     .default_matmul = Arithmetic::fp32,
     .precisions = {"fp32", "tf32", "amp", "fp16", "bf16", "int8"}},
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
