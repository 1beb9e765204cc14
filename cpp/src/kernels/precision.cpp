#include "latpred/precision.h"

#include <array>
#include <string>

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred {
namespace {

constexpr std::array<std::string_view, kNumArithmetics> kArithmeticNames{"fp32", "tf32", "fp16", "bf16", "int8"};

const std::vector<Precision> kPrecisions{
    {"default", "what the runtime does by itself", true, Arithmetic::fp32, Arithmetic::fp32, 32, 32, false},
    {"fp32", "float32 everywhere, TF32 off", false, Arithmetic::fp32, Arithmetic::fp32, 32, 32, false},
    {"tf32", "float32 tensors, TF32 convolutions and matrix products", false, Arithmetic::tf32, Arithmetic::tf32, 32,
     32, false},
    {"amp", "torch.autocast to float16: float32 weights, casts inserted", false, Arithmetic::fp16, Arithmetic::fp16, 32,
     32, true},
    {"fp16", "float16 everywhere", false, Arithmetic::fp16, Arithmetic::fp16, 16, 16, false},
    {"bf16", "bfloat16 everywhere", false, Arithmetic::bf16, Arithmetic::bf16, 16, 16, false},
    {"int8", "8-bit integer convolutions and matrix products", false, Arithmetic::int8, Arithmetic::int8, 8, 8, false},
};

}  // namespace

std::string_view arithmetic_name(Arithmetic arithmetic) {
  return kArithmeticNames.at(static_cast<std::size_t>(arithmetic));
}

const std::vector<Precision>& precisions() { return kPrecisions; }

const Precision& precision(std::string_view name) {
  std::vector<std::string> valid;
  for (const Precision& row : kPrecisions) {
    if (row.name == name) return row;
    valid.emplace_back(row.name);
  }
  throw InvalidArgumentError(unknown_name_message("precision", name, valid), {.valid = valid});
}

}  // namespace latpred
