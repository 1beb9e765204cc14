#pragma once

#include <cstdint>
#include <string_view>

namespace latpred {

// Who hands out a runtime's memory on a GPU.
enum class Arena : std::uint8_t {
  caching,  // PyTorch's caching allocator: reserves segments and keeps them
  planned,  // one area sized for the peak when the network was compiled
};

struct RuntimeMemory {
  std::string_view runtime;
  Arena arena;
  bool can_train;        // whether `autograd` means something
  bool writes_in_place;  // a point-wise kernel writes over an input that nothing reads afterwards
  bool converts_layout;  // convolutions turn NCHW tensors to the layout of the tensor cores, call by call
};

// Throws InvalidArgumentError for a runtime without a row.
[[nodiscard]] const RuntimeMemory& runtime_memory(std::string_view runtime);

}  // namespace latpred
