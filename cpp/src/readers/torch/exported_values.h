#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "latpred/json.h"
#include "latpred/program.h"
#include "readers/assembly.h"
#include "readers/name_table.h"
#include "readers/torch/aten.h"

namespace latpred::readers {

// A union of the export schema: an object with one member, whose key says what it is.
struct ExportedUnion {
  std::string_view kind;  // "as_tensor"
  const Json& value;
};

[[nodiscard]] ExportedUnion exported_union(const Json& json);
// `code` of the schema's own enum ScalarType.
[[nodiscard]] DType exported_dtype(const Json& code);
// A float; the schema writes infinities and NaN as text.
[[nodiscard]] double exported_float(const Json& number);

// Sizes of the document; one expression stands in hundreds of tensors.
class ExportedSizes {
 public:
  [[nodiscard]] Dimension dimension(const Json& sym_int);
  [[nodiscard]] std::vector<Dimension> dimensions(const Json& sizes);

 private:
  std::unordered_map<std::string_view, std::string> texts_;  // srepr -> text of Dimension::symbol
};

// The variable that `name` stands for; throws ModelFileError where there is none.
[[nodiscard]] VariableId exported_variable(std::string_view name, const NameTable& names);
[[nodiscard]] AtenValue exported_argument(const Json& argument, const NameTable& names);
// The variables that an argument names, lists flattened; numbers become constants, None is kAbsent. For operands of
// subgraphs, which take no other arguments.
void append_operands(const Json& argument, const NameTable& names, Assembly& assembly,
                     std::vector<VariableId>& operands);
// The names that a list of results gives, "" for None, lists flattened.
[[nodiscard]] std::vector<std::string_view> exported_names(const Json& arguments);

}  // namespace latpred::readers
