#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace latpred {

// The arithmetic units that one kernel runs on. Append only: fitted tables are keyed by it.
enum class Arithmetic : std::uint8_t { fp32 = 0, tf32 = 1, fp16 = 2, bf16 = 3, int8 = 4 };
inline constexpr std::size_t kNumArithmetics = 5;
[[nodiscard]] std::string_view arithmetic_name(Arithmetic arithmetic);

// A way of computing that a user can ask for. It decides for float32 tensors only; a file that stores another type has
// decided itself.
struct Precision {
  std::string_view name;
  std::string_view description;
  bool by_runtime;         // "default": the runtime's own choice; the next two do not apply
  Arithmetic convolution;  // of convolutions
  Arithmetic matmul;       // of matrix products, attention, recurrent layers
  int activation_bits;     // what a float32 activation is stored in
  int weight_bits;         // what a float32 weight is stored in
  bool autocast;           // activations follow PyTorch's autocast lists, casts are kernels of their own
};

[[nodiscard]] const std::vector<Precision>& precisions();
[[nodiscard]] const Precision& precision(std::string_view name);  // throws InvalidArgumentError with the nearest name

}  // namespace latpred
