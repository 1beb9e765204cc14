#include "latpred/reader.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "latpred/error.h"
#include "latpred/mapped_file.h"
#include "latpred/text.h"
#include "readers/folder.h"
#include "readers/keras/keras.h"
#include "readers/onnx/onnx.h"
#include "readers/paddle/paddle_pir.h"
#include "readers/paddle/paddle_program.h"
#include "readers/sniff.h"
#include "readers/tensorflow/tensorflow.h"
#include "readers/tflite/tflite.h"
#include "readers/torch/exported_program.h"

namespace latpred {
namespace {

struct ReaderRow {
  std::string_view kind;  // a row of file_kinds()
  Program (*read)(const readers::Source& source, const ReaderLimits& limits);
};

// To add a format: its row in file_kinds(), its reader, a row here. Kinds that are models without a row are read by
// their framework, from Python.
constexpr ReaderRow kReaders[] = {
    {"onnx", readers::read_onnx},
    {"exported_program", readers::read_exported_program},
    {"keras", readers::read_keras},
    {"hdf5", readers::read_keras_hdf5},
    {"paddle_pir", readers::read_paddle_pir},
    {"paddle_program", readers::read_paddle_program},
    {"tflite", readers::read_tflite},
    {"saved_model", readers::read_tensorflow},
    {"graph_def", readers::read_tensorflow},
};

struct FrameworkRow {
  std::string_view name;
  std::string_view model;  // completes "..., not ..."
};
constexpr FrameworkRow kFrameworks[] = {
    {"onnx", "an ONNX model"},      {"pytorch", "a PyTorch model"},
    {"paddle", "a Paddle program"}, {"tensorflow", "a TensorFlow model"},
    {"keras", "a Keras model"},
};

const ReaderRow* find_reader(std::string_view kind) {
  const ReaderRow* const row =
      std::find_if(std::begin(kReaders), std::end(kReaders), [&](const ReaderRow& row) { return row.kind == kind; });
  return row == std::end(kReaders) ? nullptr : row;
}

// nullptr for "": any framework.
const FrameworkRow* find_framework(std::string_view name) {
  if (name.empty()) return nullptr;
  for (const FrameworkRow& row : kFrameworks) {
    if (row.name == name) return &row;
  }
  throw InvalidArgumentError(unknown_name_message("framework", name, frameworks()), {.valid = frameworks()});
}

std::string resolve_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored) ? readers::model_in_folder(path) : path;
}

void check_framework(const std::string& path, const readers::FileKind& kind, const FrameworkRow* expected) {
  if (expected == nullptr || !kind.is_model || kind.framework == expected->name) return;
  throw ModelFileError(
      concat("'", path, "' is ", kind.what, ", not ", expected->model, "; use framework=\"", kind.framework, "\""),
      {.path = path});
}

std::string refusal(const std::string& path, const readers::FileKind& kind, std::string_view content) {
  return concat("'", path, "' ", readers::describe(kind, content), kind.advice.empty() ? "" : "; ", kind.advice);
}

}  // namespace

std::vector<std::string> frameworks() {
  std::vector<std::string> names;
  for (const FrameworkRow& row : kFrameworks) names.emplace_back(row.name);
  return names;
}

SniffedFile sniff_path(const std::string& path, std::string_view framework) {
  const FrameworkRow* const expected = find_framework(framework);
  const std::string found = resolve_folder(path);
  const MappedFile file(found);
  const readers::FileKind& kind = readers::sniff(file.content());
  check_framework(path, kind, expected);
  const bool is_folder = kind.name == "hf_folder";
  return {.path = is_folder ? std::filesystem::path(found).parent_path().string() : found,
          .kind = std::string(kind.name),
          .framework = std::string(kind.framework),
          .what = readers::describe(kind, file.content()),
          .advice = std::string(kind.advice),
          .message = refusal(path, kind, file.content()),
          .is_native = find_reader(kind.name) != nullptr};
}

Program read_program(const std::string& path, std::string_view framework, const ReaderLimits& limits) {
  const FrameworkRow* const expected = find_framework(framework);
  const std::string found = resolve_folder(path);
  const MappedFile file(found);
  const readers::FileKind& kind = readers::sniff(file.content());
  check_framework(path, kind, expected);
  if (const ReaderRow* const row = find_reader(kind.name); row != nullptr) {
    Program program = row->read({found, file.content()}, limits);
    program.source.path = path;
    return program;
  }
  throw ModelFileError(refusal(path, kind, file.content()), {.path = path});
}

}  // namespace latpred
