#pragma once

#include <optional>
#include <string_view>

namespace latpred::readers::tensorflow {

// An operator as TensorFlow registers it, as far as files leave that out: SavedModels omit attributes that have their
// default value, and functions speak of results by name.
struct RegistryRow {
  std::string_view op;
  std::string_view results;   // names, by comma
  std::string_view defaults;  // "data_format=NHWC;dilations=1,1,1,1": types by their number, booleans as 0 and 1
};

// nullptr for an operator that this version does not know.
[[nodiscard]] const RegistryRow* registry_row(std::string_view op);

// The text of the default, nothing where `attribute` has none.
[[nodiscard]] std::optional<std::string_view> default_of(const RegistryRow& row, std::string_view attribute);

}  // namespace latpred::readers::tensorflow
