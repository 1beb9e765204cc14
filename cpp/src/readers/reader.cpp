#include "latpred/reader.h"

#include <algorithm>
#include <filesystem>

#include "latpred/error.h"
#include "latpred/mapped_file.h"
#include "latpred/text.h"
#include "readers/onnx.h"
#include "readers/sniff.h"

namespace latpred {
namespace {

struct ReaderRow {
  std::string_view framework;
  std::string_view kind;  // a row of file_kinds()
  Program (*read)(const readers::Source& source, const ReaderLimits& limits);
};

// To add a format: its row in file_kinds(), its reader, a row here.
constexpr ReaderRow kReaders[] = {
    {"onnx", "onnx", readers::read_onnx},
};

// A framework that no reader takes: one that we can tell at least, or a word that means nothing.
void check_framework(std::string_view framework) {
  const std::vector<std::string> valid = frameworks();
  if (framework.empty() || std::find(valid.begin(), valid.end(), framework) != valid.end()) return;
  for (const readers::FileKind& kind : readers::file_kinds()) {
    if (kind.framework != framework) continue;
    throw InvalidArgumentError(
        concat("framework '", framework, "' is not read by this version, which reads ", join(valid), "; ", kind.advice),
        {.valid = valid});
  }
  throw InvalidArgumentError(unknown_name_message("framework", framework, valid), {.valid = valid});
}

}  // namespace

std::vector<std::string> frameworks() {
  std::vector<std::string> names;
  for (const ReaderRow& row : kReaders) names.emplace_back(row.framework);
  return names;
}

Program read_program(const std::string& path, std::string_view framework, const ReaderLimits& limits) {
  check_framework(framework);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw ModelFileError(readers::describe_folder(path), {.path = path});
  }
  const MappedFile file(path);
  const readers::FileKind& kind = readers::sniff(file.content());
  for (const ReaderRow& row : kReaders) {
    if (row.kind != kind.name) continue;
    Program program = row.read({path, file.content()}, limits);
    program.source.path = path;
    program.source.framework = row.framework;
    return program;
  }
  const std::string_view expected = framework == "onnx" ? ", not an ONNX model" : "";
  // Some kinds say already that they are no model.
  const bool says_so = kind.what.find(", not ") != std::string_view::npos;
  throw ModelFileError(concat("'", path, "' is ", kind.what, says_so ? "" : expected,
                              "; this version reads ONNX files only: ", kind.advice),
                       {.path = path});
}

}  // namespace latpred
