#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace latpred::readers {

// One kind of file that users hand over, recognised by its content.
struct FileKind {
  std::string_view name;       // "onnx", "torchscript", ...
  std::string_view framework;  // as `framework=` names it; "" where there is none
  std::string_view what;       // completes "'m.pt' is ..."
  std::string_view advice;     // what to do with a file that no reader takes
  bool (*matches)(std::string_view content);
};

// Every kind that is told apart, in the order in which they are tried.
[[nodiscard]] const std::vector<FileKind>& file_kinds();

// The kind of file that `content` is; a row named "unrecognised" where no other fits.
[[nodiscard]] const FileKind& sniff(std::string_view content);

// What stands in the folder `path` and which file in it is meant, for the message that refuses it.
[[nodiscard]] std::string describe_folder(const std::string& path);

}  // namespace latpred::readers
