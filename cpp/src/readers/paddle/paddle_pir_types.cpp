#include "readers/paddle/paddle_pir_types.h"

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "latpred/text.h"

namespace latpred::readers {
namespace {

struct ElementTypeRow {
  std::string_view name;
  DType dtype;
};

constexpr ElementTypeRow kElementTypes[] = {
    {"0.t_bool", DType::boolean},
    {"0.t_i8", DType::int8},
    {"0.t_ui8", DType::uint8},
    {"0.t_i16", DType::int16},
    {"0.t_i32", DType::int32},
    {"0.t_i64", DType::int64},
    {"0.t_ui16", DType::uint16},
    {"0.t_ui32", DType::uint32},
    {"0.t_ui64", DType::uint64},
    {"0.t_index", DType::int64},
    {"0.t_f16", DType::float16},
    {"0.t_bf16", DType::bfloat16},
    {"0.t_f32", DType::float32},
    {"0.t_f64", DType::float64},
    {"0.t_c64", DType::complex64},
    {"0.t_c128", DType::complex128},
    {"0.t_f8e4m3fn", DType::float8e4m3fn},
    {"0.t_f8e5m2", DType::float8e5m2},
};

DType element_type(std::string_view name) {
  for (const ElementTypeRow& row : kElementTypes) {
    if (row.name == name) return row.dtype;
  }
  return DType::undefined;
}

// A number with or without its own type around it; nothing for what no size depends on.
std::optional<AttributeValue> scalar(const Json& data) {
  if (const Json* inner = data.is_object() ? data.find("D") : nullptr) return scalar(*inner);
  if (data.is_integer()) return data.integer();
  if (data.is_number()) return data.number();
  return std::nullopt;
}

PirType type_of(const Source& source, const Json& json, std::int64_t depth) {
  PirType type;
  const std::string& kind = json.at("#").text();
  const Json* data = json.find("D");
  if (kind == "0.t_vec") {
    if (depth > 0) source.fail("a value is a list of lists, which is not read");
    type.is_list = true;
    if (data == nullptr) return type;
    for (const Json& element : data->array()) type.elements.push_back(type_of(source, element, depth + 1));
    return type;
  }
  if (kind != "0.t_dtensor" || data == nullptr) return type;  // no tensor: its sizes stay open
  const Json::Array& parts = data->array();
  if (parts.size() < 2) source.fail("a tensor's type has neither elements nor dimensions");
  type.dtype = element_type(parts[0].at("#").text());
  type.sizes.emplace();
  for (const Json& size : parts[1].array()) {
    const std::int64_t number = size.integer();
    if (number < -1) source.fail(concat("a tensor's type has a dimension of ", number));
    type.sizes->push_back(number);
  }
  return type;
}

}  // namespace

PirType pir_type(const Source& source, const Json& json) { return type_of(source, json, 0); }

std::optional<AttributeValue> pir_attribute(const Json& typed) {
  const std::string& kind = typed.at("#").text();
  const Json* data = typed.find("D");
  if (data == nullptr) return std::nullopt;
  if (kind == "0.a_bool") return std::int64_t{data->boolean()};
  if (kind == "0.a_str" || kind == "1.a_dtype") return data->text();
  if (kind == "0.a_i32" || kind == "0.a_i64" || kind == "0.a_index") return data->integer();
  if (kind == "0.a_f32" || kind == "0.a_f64") return data->number();
  if (kind == "1.a_scalar" || kind == "1.a_intarray" || kind == "0.a_array") {
    if (kind == "1.a_scalar") return scalar(*data);
    std::vector<std::int64_t> integers;
    std::vector<double> reals;
    std::vector<std::string> texts;
    for (const Json& element : data->array()) {
      AttributeValue value = std::int64_t{0};
      if (kind == "1.a_intarray") {
        value = element.integer();
      } else {
        auto inner = pir_attribute(element);
        if (!inner) return std::nullopt;
        value = std::move(*inner);
      }
      if (const auto* integer = std::get_if<std::int64_t>(&value)) {
        integers.push_back(*integer);
      } else if (const auto* real = std::get_if<double>(&value)) {
        reals.push_back(*real);
      } else if (auto* text = std::get_if<std::string>(&value)) {
        texts.push_back(std::move(*text));
      } else {
        return std::nullopt;  // lists of lists
      }
    }
    if (!texts.empty()) return texts;
    if (!reals.empty()) return reals;
    return integers;
  }
  return std::nullopt;
}

}  // namespace latpred::readers
