#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace latpred::readers {

// What a Python pickle would do, read off its opcodes. Nothing is built, imported or called.
struct PickleSummary {
  bool is_whole = false;             // followed to its end
  std::size_t size = 0;              // bytes to the end of what was followed
  std::int64_t num_tensors = 0;      // torch tensors and numpy arrays that it rebuilds
  std::vector<std::string> classes;  // what it would import besides the parts of tensors, in order, each once
  bool is_paddle = false;            // made by paddle.save

  // Rebuilds tensors and plain containers: nothing of it can run code of somebody's own.
  [[nodiscard]] bool is_weights_only() const { return is_whole && classes.empty(); }
};

// The pickle at the start of `content`.
[[nodiscard]] PickleSummary scan_pickle(std::string_view content);

// The same for a file that torch.save wrote before it wrote zip archives: five pickles in a row.
[[nodiscard]] PickleSummary scan_legacy_checkpoint(std::string_view content);
[[nodiscard]] bool is_legacy_checkpoint(std::string_view content);

}  // namespace latpred::readers
