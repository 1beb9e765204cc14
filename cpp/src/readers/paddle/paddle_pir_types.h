#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "latpred/attributes.h"
#include "latpred/dtype.h"
#include "latpred/json.h"
#include "readers/source.h"

// PIR's types of values and attributes, which its JSON spells out at every place.
namespace latpred::readers {

// What a value is: a tensor, or a list of them.
struct PirType {
  DType dtype = DType::undefined;
  std::optional<std::vector<std::int64_t>> sizes;  // nothing: no tensor, or one that is not dense
  bool is_list = false;
  std::vector<PirType> elements;
};

[[nodiscard]] PirType pir_type(const Source& source, const Json& json);

// Nothing where it is of a kind that no operator's cost depends on (places, operators' distribution).
[[nodiscard]] std::optional<AttributeValue> pir_attribute(const Json& typed);

}  // namespace latpred::readers
