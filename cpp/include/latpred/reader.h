#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "latpred/program.h"

namespace latpred {

// Guards against files made to exhaust us; a caller with a larger honest file can raise them.
struct ReaderLimits {
  std::int64_t max_nodes = 2'000'000;
  std::int64_t max_depth = 64;  // nested messages, bodies and function calls
};

// What kind of file a path leads to, told by the content.
struct SniffedFile {
  std::string path;        // of the file: in a folder, the model in it; for a Hugging Face model the folder
  std::string kind;        // "onnx", "torchscript", ...
  std::string framework;   // "" where the kind tells nothing
  std::string what;        // completes "'m.pt' ...": "is a TorchScript archive"
  std::string advice;      // what to do where it cannot be read
  std::string message;     // both in one sentence, with the path that was given
  bool is_native = false;  // read_program reads it
};

// Throws ModelFileError where there is no file to read or `framework`, unless empty, contradicts the content.
[[nodiscard]] SniffedFile sniff_path(const std::string& path, std::string_view framework = "");

// Reads what a model file says; a folder stands for the model in it. `framework` empty: the content decides; given: it
// is checked against the content. Weights are never read, nothing in the file is executed. Throws ModelFileError with
// path and offset.
[[nodiscard]] Program read_program(const std::string& path, std::string_view framework = "",
                                   const ReaderLimits& limits = {});

// The words that `framework` may be, for look-ups and documentation.
[[nodiscard]] std::vector<std::string> frameworks();

}  // namespace latpred
