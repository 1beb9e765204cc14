#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

#include "latpred/error.h"
#include "latpred/text.h"
#include "readers/torch/exported_graph.h"

namespace latpred::readers {
namespace {

// What computes sizes is written as operators on int64 scalars, which the shape engine folds at any batch.
class ScalarNode {
 public:
  ScalarNode(Assembly& assembly, const AtenNode& node) : assembly_(assembly), node_(node) {
    if (node.outputs.size() != 1 || node.outputs.front() == kAbsent) {
      throw ModelFileError(concat("gives ", node.outputs.size(), " values, expected one number"));
    }
  }

  [[nodiscard]] VariableId output() const { return node_.outputs.front(); }

  // Argument `index` as a scalar variable; a tensor where it is one.
  [[nodiscard]] VariableId operand(std::size_t index) const {
    const AtenValue& value = argument(index);
    if (const auto* tensor = std::get_if<AtenTensor>(&value)) return tensor->variable;
    if (const auto* integer = std::get_if<AtenInteger>(&value)) {
      return integer->is_number() ? integer_constant(integer->number) : integer->variable;
    }
    if (const auto* number = std::get_if<double>(&value)) return assembly_.scalar("number", DType::float64, *number);
    if (const auto* flag = std::get_if<bool>(&value)) return assembly_.scalar("flag", DType::boolean, *flag ? 1 : 0);
    throw ModelFileError(concat("its argument '", node_.arguments[index].name, "' is no number"));
  }
  [[nodiscard]] std::int64_t number(std::size_t index) const {
    const auto* integer = std::get_if<AtenInteger>(&argument(index));
    if (integer != nullptr && integer->is_number()) return integer->number;
    throw ModelFileError(concat("its argument '", node_.arguments[index].name, "' is no plain integer"));
  }

  [[nodiscard]] VariableId integer_constant(std::int64_t number) const {
    return assembly_.constant(std::to_string(number),
                              {.dtype = DType::int64, .shape = {}, .integers = {number}, .reals = {}});
  }
  [[nodiscard]] VariableId between(DType dtype = DType::int64) const {
    return assembly_.result(concat(node_.name, "/part"), dtype);
  }

  void append(OperatorId op, std::vector<VariableId> inputs, VariableId result, Attributes attributes = {}) const {
    attributes.set("host", std::int64_t{1});  // Python does it: no kernel, and known before the network runs
    Statement statement{.op = op,
                        .source_operator = std::string(node_.target),
                        .name = std::string(node_.name),
                        .inputs = std::move(inputs),
                        .outputs = {result},
                        .attributes = std::move(attributes)};
    if (result == output()) {  // the last of those that stand for the node
      assembly_.append(std::move(statement));
    } else {
      assembly_.append_part(std::move(statement));
    }
  }
  [[nodiscard]] VariableId cast(VariableId from, DType dtype, VariableId to) const {
    Attributes attributes;
    attributes.set("to", static_cast<std::int64_t>(dtype));
    append(OperatorId::cast, {from}, to, std::move(attributes));
    return to;
  }

 private:
  [[nodiscard]] const AtenValue& argument(std::size_t index) const {
    if (index < node_.arguments.size()) return node_.arguments[index].value;
    throw ModelFileError(concat("has ", node_.arguments.size(), " arguments, at least ", index + 1, " expected"));
  }

  Assembly& assembly_;
  const AtenNode& node_;
};

template <OperatorId op>
void unary(const ScalarNode& node) {
  node.append(op, {node.operand(0)}, node.output());
}

template <OperatorId op>
void binary(const ScalarNode& node) {
  node.append(op, {node.operand(0), node.operand(1)}, node.output());
}

void choose(const ScalarNode& node) {
  node.append(OperatorId::where, {node.operand(0), node.operand(1), node.operand(2)}, node.output());
}

void not_equal(const ScalarNode& node) {
  const VariableId equal = node.between(DType::boolean);
  node.append(OperatorId::equal, {node.operand(0), node.operand(1)}, equal);
  node.append(OperatorId::logical_not, {equal}, node.output());
}

// Rounded down, where Div of integers rounds towards zero: -(-n // 2) is how Python writes a quotient rounded up.
void floor_divide(const ScalarNode& node) {
  const VariableId dividend = node.operand(0);
  const VariableId divisor = node.operand(1);
  const VariableId remainder = node.between();
  const VariableId multiple = node.between();
  node.append(OperatorId::mod, {dividend, divisor}, remainder);
  node.append(OperatorId::sub, {dividend, remainder}, multiple);
  node.append(OperatorId::div, {multiple, divisor}, node.output());
}

void true_divide(const ScalarNode& node) {
  const VariableId dividend = node.cast(node.operand(0), DType::float64, node.between(DType::float64));
  const VariableId divisor = node.cast(node.operand(1), DType::float64, node.between(DType::float64));
  node.append(OperatorId::div, {dividend, divisor}, node.output());
}

void square_root(const ScalarNode& node) {
  const VariableId number = node.cast(node.operand(0), DType::float64, node.between(DType::float64));
  node.append(OperatorId::sqrt, {number}, node.output());
}

void to_integer(const ScalarNode& node) { (void)node.cast(node.operand(0), DType::int64, node.output()); }
void to_float(const ScalarNode& node) { (void)node.cast(node.operand(0), DType::float64, node.output()); }

template <OperatorId op>
void rounded(const ScalarNode& node) {
  const VariableId number = node.cast(node.operand(0), DType::float64, node.between(DType::float64));
  const VariableId whole = node.between(DType::float64);
  node.append(op, {number}, whole);
  (void)node.cast(whole, DType::int64, node.output());
}

void size_of_dimension(const ScalarNode& node) {
  const VariableId sizes = node.between();
  node.append(OperatorId::shape, {node.operand(0)}, sizes);
  node.append(OperatorId::gather, {sizes, node.integer_constant(node.number(1))}, node.output());
}

struct ScalarRow {
  std::string_view target;
  void (*append)(const ScalarNode& node);
};

// torch/_export/serde/serialize.py, _SYM_OPS, and what gives sizes of tensors.
constexpr ScalarRow kScalars[] = {
    {"aten.sym_size.int", size_of_dimension},
    {"aten.sym_numel.default", unary<OperatorId::size>},
    {"_operator.add", binary<OperatorId::add>},
    {"_operator.sub", binary<OperatorId::sub>},
    {"_operator.mul", binary<OperatorId::mul>},
    {"_operator.floordiv", floor_divide},
    {"_operator.truediv", true_divide},
    {"_operator.mod", binary<OperatorId::mod>},
    {"_operator.pow", binary<OperatorId::pow>},
    {"_operator.neg", unary<OperatorId::neg>},
    {"_operator.pos", unary<OperatorId::identity>},
    {"_operator.eq", binary<OperatorId::equal>},
    {"_operator.ne", not_equal},
    {"_operator.lt", binary<OperatorId::less>},
    {"_operator.le", binary<OperatorId::less_or_equal>},
    {"_operator.gt", binary<OperatorId::greater>},
    {"_operator.ge", binary<OperatorId::greater_or_equal>},
    {"_operator.and_", binary<OperatorId::logical_and>},
    {"_operator.or_", binary<OperatorId::logical_or>},
    {"math.trunc", to_integer},
    {"math.ceil", rounded<OperatorId::ceil>},
    {"math.floor", rounded<OperatorId::floor>},
    {"torch.sym_int", to_integer},
    {"torch.sym_float", to_float},
    {"torch.sym_max", binary<OperatorId::max>},
    {"torch.sym_min", binary<OperatorId::min>},
    {"torch.sym_ite", choose},
    {"torch.sym_not", unary<OperatorId::logical_not>},
    {"torch._sym_sqrt", square_root},
};

// Those of the namespaces above that are missing there compute sizes too: no tensor operator to fall back on.
constexpr std::string_view kScalarNamespaces[] = {"_operator.", "math.", "torch.", "aten.sym_"};

}  // namespace

bool append_exported_scalar(Assembly& assembly, const AtenNode& node) {
  const bool is_scalar = std::any_of(std::begin(kScalarNamespaces), std::end(kScalarNamespaces),
                                     [&](std::string_view prefix) { return node.target.starts_with(prefix); });
  if (!is_scalar || node.outputs.empty()) return false;
  const auto* row = std::find_if(std::begin(kScalars), std::end(kScalars),
                                 [&](const ScalarRow& one) { return one.target == node.target; });
  if (row == std::end(kScalars)) {
    std::vector<std::string> known;
    for (const ScalarRow& one : kScalars) known.emplace_back(one.target);
    throw UnsupportedOperatorError(unknown_name_message("function of sizes", node.target, known), {.valid = known});
  }
  row->append(ScalarNode(assembly, node));
  return true;
}

}  // namespace latpred::readers
