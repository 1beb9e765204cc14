#include "readers/keras/keras_operations.h"

#include "latpred/text.h"

namespace latpred::readers::keras {
namespace {

Shape shape_of_lists(const Call& call, const Json& json) {
  Shape shape;
  for (const Json* at = &json; at->is_array(); at = &at->array().front()) {
    shape.push_back(static_cast<std::int64_t>(at->array().size()));
    if (at->array().empty()) call.unsupported("an empty constant is not read");
  }
  return shape;
}

}  // namespace

const Json* find_setting(const Call& call, Names names, std::size_t position) {
  for (const std::string_view name : names) {
    const Argument* named = call.argument(name, static_cast<std::size_t>(-1));
    if (named != nullptr) return named->constant;
    if (call.has(name)) return call.config().find(name);
  }
  const Argument* at = call.argument("", position);
  return at == nullptr ? nullptr : at->constant;
}

std::int64_t integer_setting(const Call& call, Names names, std::size_t position, std::int64_t fallback) {
  const Json* found = find_setting(call, names, position);
  return found == nullptr ? fallback : found->integer();
}

VariableId operand(Call& call, const Argument* argument, DType dtype) {
  if (argument == nullptr) call.fail("lacks an operand");
  if (!argument->tensors.empty()) return argument->tensors.front();
  const Json& constant = *argument->constant;
  if (constant.is_number()) return call.scalar(constant.number(), dtype);
  if (constant.is_boolean()) return call.scalar(constant.boolean() ? 1 : 0, DType::boolean);
  const Json* list = constant.is_object() ? constant.at("config").find("value") : &constant;
  if (list != nullptr && list->is_number()) return call.scalar(list->number(), dtype);
  if (list == nullptr || !list->is_array()) call.unsupported("one of its operands is no tensor and no number");
  return call.constant(dtype, shape_of_lists(call, *list));
}

Variables call_function(Call& call, const std::string& function) {
  std::vector<std::string> valid;
  for (const auto table : {arithmetic_functions, array_functions}) {
    for (const FunctionRow& row : table()) {
      if (row.function == function) return row.lower(call);
      valid.emplace_back(row.function);
    }
  }
  call.unsupported(unknown_name_message("function", function, valid));
}

const std::vector<LayerRow>& operation_layers() {
  static const std::vector<LayerRow> rows = [] {
    std::vector<LayerRow> both = arithmetic_operations();
    both.insert(both.end(), array_operations().begin(), array_operations().end());
    return both;
  }();
  return rows;
}

}  // namespace latpred::readers::keras
