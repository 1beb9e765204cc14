#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace latpred::readers {

// One kind of file that users hand over, recognised by its content.
struct FileKind {
  std::string_view name;       // "onnx", "torchscript", ...
  std::string_view framework;  // as `framework=` names it; "" where it tells nothing
  bool is_model = false;       // latpred reads it, by itself or through its framework
  std::string_view what;       // completes "'m.pt' is ..."
  std::string_view advice;     // what to do with a file that cannot be read
  bool (*matches)(std::string_view content);
  std::string (*describe)(std::string_view content) = nullptr;  // of this very file, in place of "is `what`"
};

// Every kind that is told apart, in the order in which they are tried.
[[nodiscard]] const std::vector<FileKind>& file_kinds();

// The kind of file that `content` is; a row named "unrecognised" where no other fits.
[[nodiscard]] const FileKind& sniff(std::string_view content);

// "is a TorchScript archive", "holds weights only (142 tensors), no graph"
[[nodiscard]] std::string describe(const FileKind& kind, std::string_view content);

}  // namespace latpred::readers
