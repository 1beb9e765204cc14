#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace latpred {

// Who hands out a runtime's memory on a GPU.
enum class Arena : std::uint8_t {
  caching,  // PyTorch's caching allocator: reserves segments and keeps them
  planned,  // one area sized for the peak when the network was compiled
};

// What a process on a processor holds besides its imports: own + weights x theirs + activations x (inputs and
// activations at their peak). Libraries keep weights in a layout of their own beside the file's, and copy activations.
struct ProcessMemory {
  double own_bytes;
  double weights_factor;
  double activations_factor;
  double half_width;  // of the 80 % interval, on the logarithmic scale
};

struct RuntimeMemory {
  std::string_view runtime;
  Arena arena;
  bool can_train;        // whether `autograd` means something
  bool writes_in_place;  // a point-wise kernel writes over an input that nothing reads afterwards
  bool converts_layout;  // convolutions turn NCHW tensors to the layout of the tensor cores, call by call
  std::optional<ProcessMemory> process = {};  // nothing: nobody has measured its processes
};

[[nodiscard]] std::span<const RuntimeMemory> runtime_memories();
// Throws InvalidArgumentError for a runtime without a row.
[[nodiscard]] const RuntimeMemory& runtime_memory(std::string_view runtime);

}  // namespace latpred
