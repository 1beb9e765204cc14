#include "readers/torch/exported_values.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "latpred/error.h"
#include "latpred/text.h"
#include "readers/torch/srepr.h"

namespace latpred::readers {
namespace {

struct ScalarTypeRow {
  std::int64_t code;
  DType dtype;
};

// torch/_export/serde/schema.py, enum ScalarType. 9 (complex32) is left out: no table of ours has it.
constexpr ScalarTypeRow kScalarTypes[] = {
    {1, DType::uint8},           {2, DType::int8},          {3, DType::int16},       {4, DType::int32},
    {5, DType::int64},           {6, DType::float16},       {7, DType::float32},     {8, DType::float64},
    {10, DType::complex64},      {11, DType::complex128},   {12, DType::boolean},    {13, DType::bfloat16},
    {28, DType::uint16},         {29, DType::float8e4m3fn}, {30, DType::float8e5m2}, {31, DType::float8e4m3fnuz},
    {32, DType::float8e5m2fnuz}, {33, DType::float8e8m0},   {34, DType::uint32},     {35, DType::uint64},
};

using Names = const NameTable&;

template <typename List, typename Convert>
List list_of(const Json& json, Convert convert) {
  List list;
  list.reserve(json.array().size());
  for (const Json& one : json.array()) list.push_back(convert(one));
  return list;
}

AtenTensor tensor(const Json& json, Names names) { return {exported_variable(json.at("name").text(), names)}; }

AtenTensor optional_tensor(const Json& json, Names names) {
  const ExportedUnion one = exported_union(json);
  return one.kind == "as_tensor" ? tensor(one.value, names) : AtenTensor{};
}

AtenInteger symbolic_integer(const Json& json, Names names) {
  const ExportedUnion one = exported_union(json);
  if (one.kind == "as_int") return {.number = one.value.integer()};
  return {.number = 0, .variable = exported_variable(one.value.text(), names)};
}

// A float or boolean that some node computes, or just the number.
AtenValue symbolic(const Json& json, Names names) {
  const ExportedUnion one = exported_union(json);
  if (one.kind == "as_name") return AtenTensor{exported_variable(one.value.text(), names)};
  if (one.kind == "as_bool") return one.value.boolean();
  return exported_float(one.value);
}

struct ArgumentRow {
  std::string_view kind;
  AtenValue (*read)(const Json& value, Names names);
};

// torch/_export/serde/schema.py, union Argument. What is missing stands for no number and no tensor that a size could
// depend on, and is refused by name.
constexpr ArgumentRow kArguments[] = {
    {"as_tensor", [](const Json& value, Names names) -> AtenValue { return tensor(value, names); }},
    {"as_int", [](const Json& value, Names) -> AtenValue { return AtenInteger{.number = value.integer()}; }},
    {"as_ints",
     [](const Json& value, Names) -> AtenValue {
       return list_of<AtenIntegers>(value, [](const Json& one) { return AtenInteger{.number = one.integer()}; });
     }},
    {"as_bool", [](const Json& value, Names) -> AtenValue { return value.boolean(); }},
    {"as_none", [](const Json&, Names) -> AtenValue { return std::monostate(); }},
    {"as_float", [](const Json& value, Names) -> AtenValue { return exported_float(value); }},
    {"as_floats",
     [](const Json& value, Names) -> AtenValue { return list_of<std::vector<double>>(value, exported_float); }},
    {"as_bools",
     [](const Json& value, Names) -> AtenValue {
       return list_of<std::vector<bool>>(value, [](const Json& one) { return one.boolean(); });
     }},
    {"as_string", [](const Json& value, Names) -> AtenValue { return std::string_view(value.text()); }},
    {"as_tensors",
     [](const Json& value, Names names) -> AtenValue {
       return list_of<AtenTensors>(value, [&](const Json& one) { return tensor(one, names); });
     }},
    {"as_optional_tensors",
     [](const Json& value, Names names) -> AtenValue {
       return list_of<AtenTensors>(value, [&](const Json& one) { return optional_tensor(one, names); });
     }},
    {"as_optional_tensor",
     [](const Json& value, Names names) -> AtenValue {
       const AtenTensor one = optional_tensor(value, names);
       return one.variable == kAbsent ? AtenValue(std::monostate()) : AtenValue(one);
     }},
    {"as_sym_int", [](const Json& value, Names names) -> AtenValue { return symbolic_integer(value, names); }},
    {"as_sym_ints",
     [](const Json& value, Names names) -> AtenValue {
       return list_of<AtenIntegers>(value, [&](const Json& one) { return symbolic_integer(one, names); });
     }},
    {"as_sym_float", symbolic},
    {"as_sym_bool", symbolic},
    {"as_scalar_type", [](const Json& value, Names) -> AtenValue { return exported_dtype(value); }},
    {"as_memory_format", [](const Json& value, Names) -> AtenValue { return AtenInteger{.number = value.integer()}; }},
    {"as_layout", [](const Json& value, Names) -> AtenValue { return AtenInteger{.number = value.integer()}; }},
    {"as_device", [](const Json& value, Names) -> AtenValue { return std::string_view(value.at("type").text()); }},
    {"as_operator", [](const Json& value, Names) -> AtenValue { return std::string_view(value.text()); }},
};

}  // namespace

ExportedUnion exported_union(const Json& json) {
  const Json::Object& members = json.object();
  if (members.size() == 1) return {members.front().first, members.front().second};
  throw ModelFileError(concat("JSON: found an object of ", members.size(),
                              " members where a union of the export schema, one of one, was expected"));
}

DType exported_dtype(const Json& code) {
  const std::int64_t number = code.integer();
  const auto* row = std::find_if(std::begin(kScalarTypes), std::end(kScalarTypes),
                                 [&](const ScalarTypeRow& one) { return one.code == number; });
  if (row != std::end(kScalarTypes)) return row->dtype;
  throw ModelFileError(concat("element type ", number, " of the export schema is not known (complex32 is 9)"));
}

double exported_float(const Json& number) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  static constexpr std::pair<std::string_view, double> kTexts[] = {
      {"Infinity", kInfinity}, {"-Infinity", -kInfinity}, {"NaN", std::numeric_limits<double>::quiet_NaN()}};
  if (number.is_text()) {
    for (const auto& [text, value] : kTexts) {
      if (number.text() == text) return value;
    }
  }
  return number.number();
}

Dimension ExportedSizes::dimension(const Json& sym_int) {
  const ExportedUnion size = exported_union(sym_int);
  if (size.kind == "as_int") {
    const std::int64_t number = size.value.integer();
    if (number < 0) throw ModelFileError(concat("a size is ", number));
    return {.size = number, .symbol = {}};
  }
  const std::string& srepr = size.value.at("expr_str").text();
  const auto [found, is_new] = texts_.try_emplace(srepr);
  if (is_new) found->second = infix_of_srepr(srepr);
  return {.size = kUnknownSize, .symbol = found->second};
}

std::vector<Dimension> ExportedSizes::dimensions(const Json& sizes) {
  return list_of<std::vector<Dimension>>(sizes, [this](const Json& one) { return dimension(one); });
}

VariableId exported_variable(std::string_view name, const NameTable& names) {
  if (const VariableId* id = names.find(name)) return *id;
  throw ModelFileError(concat("reads '", name, "', which its graph does not declare"));
}

AtenValue exported_argument(const Json& argument, const NameTable& names) {
  const ExportedUnion one = exported_union(argument);
  const auto* row = std::find_if(std::begin(kArguments), std::end(kArguments),
                                 [&](const ArgumentRow& row) { return row.kind == one.kind; });
  if (row != std::end(kArguments)) return row->read(one.value, names);
  std::vector<std::string> known;
  for (const ArgumentRow& each : kArguments) known.emplace_back(each.kind);
  throw ModelFileError(unknown_name_message("kind of argument", one.kind, known));
}

void append_operands(const Json& argument, const NameTable& names, Assembly& assembly,
                     std::vector<VariableId>& operands) {
  const auto append = [&](const AtenInteger& integer) {
    if (!integer.is_number()) {
      operands.push_back(integer.variable);
      return;
    }
    operands.push_back(
        assembly.constant(std::to_string(integer.number),
                          {.dtype = DType::int64, .shape = {}, .integers = {integer.number}, .reals = {}}));
  };
  const AtenValue value = exported_argument(argument, names);
  if (const auto* tensor = std::get_if<AtenTensor>(&value)) {
    operands.push_back(assembly.current(tensor->variable));
  } else if (const auto* tensors = std::get_if<AtenTensors>(&value)) {
    for (const AtenTensor& one : *tensors) operands.push_back(assembly.current(one.variable));
  } else if (const auto* integer = std::get_if<AtenInteger>(&value)) {
    append(*integer);
  } else if (const auto* integers = std::get_if<AtenIntegers>(&value)) {
    for (const AtenInteger& one : *integers) append(one);
  } else if (const auto* number = std::get_if<double>(&value)) {
    operands.push_back(assembly.scalar("number", DType::float64, *number));
  } else if (const auto* flag = std::get_if<bool>(&value)) {
    operands.push_back(assembly.scalar("flag", DType::boolean, *flag ? 1 : 0));
  } else if (std::holds_alternative<std::monostate>(value)) {
    operands.push_back(kAbsent);
  } else {
    throw ModelFileError(concat("an operand of a subgraph is ", exported_union(argument).kind));
  }
}

std::vector<std::string_view> exported_names(const Json& arguments) {
  std::vector<std::string_view> names;
  for (const Json& argument : arguments.array()) {
    const ExportedUnion one = exported_union(argument);
    if (one.kind == "as_tensor") {
      names.emplace_back(one.value.at("name").text());
    } else if (one.kind == "as_tensors") {
      for (const Json& tensor : one.value.array()) names.emplace_back(tensor.at("name").text());
    } else if (one.kind == "as_optional_tensor" || one.kind == "as_optional_tensors") {
      const auto append = [&](const Json& json) {
        const ExportedUnion tensor = exported_union(json);
        names.emplace_back(tensor.kind == "as_tensor" ? std::string_view(tensor.value.at("name").text()) : "");
      };
      if (one.kind == "as_optional_tensor") {
        append(one.value);
      } else {
        for (const Json& json : one.value.array()) append(json);
      }
    } else if (one.kind == "as_sym_int" || one.kind == "as_sym_float" || one.kind == "as_sym_bool") {
      const ExportedUnion symbol = exported_union(one.value);
      names.emplace_back(symbol.kind == "as_name" ? std::string_view(symbol.value.text()) : "");
    } else {
      names.emplace_back();  // None and plain numbers: nothing that a node could read
    }
  }
  return names;
}

}  // namespace latpred::readers
