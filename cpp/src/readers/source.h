#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace latpred::readers {

// The bytes being read and the name under which messages speak of them. Every view that a reader passes on points into
// `content`, which is how an error finds its offset.
struct Source {
  std::string path;
  std::string_view content;

  [[nodiscard]] std::int64_t offset_of(const char* position) const { return position - content.data(); }
  // Throws ModelFileError "'m.onnx' is damaged: <what>".
  [[noreturn]] void fail_as_damaged(const std::string& what, std::int64_t offset) const;
  // Throws ModelFileError "'m.onnx': <what>".
  [[noreturn]] void fail(const std::string& what, std::int64_t offset = -1) const;
};

}  // namespace latpred::readers
