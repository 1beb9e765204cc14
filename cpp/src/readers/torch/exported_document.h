#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "latpred/program.h"
#include "latpred/reader.h"
#include "readers/source.h"

namespace latpred::readers {

// What stands around a document of torch.export, by name in the state dict.
struct ExportedStore {
  std::map<std::string, std::string> identities;               // equal ones are one tensor
  std::map<std::string, std::shared_ptr<const Value>> values;  // of small integer constants
};

// `document` is a part of `source.content` or stands alone; `format` as SourceInfo has it, without the schema's
// version.
[[nodiscard]] Program read_exported_document(const Source& source, std::string_view document,
                                             const ExportedStore& store, const std::string& format,
                                             const ReaderLimits& limits);

}  // namespace latpred::readers
