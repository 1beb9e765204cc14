#include <algorithm>
#include <map>
#include <unordered_map>

#include "latpred/error.h"
#include "latpred/text.h"
#include "normalize/prune.h"
#include "shapes/engine.h"

namespace latpred::shapes {
namespace {

constexpr int kNamedExamples = 1;  // nodes named for each unsupported operator; the count tells the rest

bool is_batch_norm_statistic(OperatorId op, std::size_t index) {
  return op == OperatorId::batch_norm && (index == 3 || index == 4);
}

}  // namespace

TensorId Engine::add_tensor(std::string name, DType dtype, Shape shape, TensorKind kind) {
  graph_.tensors.push_back({.name = std::move(name), .dtype = dtype, .shape = std::move(shape), .kind = kind});
  return static_cast<TensorId>(graph_.tensors.size() - 1);
}

// Integers of up to 8 bits are quantised weights, int32 beside a product is a quantised bias; other integers are axes,
// indices and sizes. What follows from the inputs' sizes is no weight.
TensorKind Engine::stored_kind(const Slot& slot, OperatorId op, std::size_t index) {
  if (slot.depends_on_sizes || slot.known.shape.empty()) return TensorKind::constant;
  if (is_batch_norm_statistic(op, index)) return TensorKind::statistic;
  const DTypeRow& row = dtype_row(slot.known.dtype);
  if (row.is_floating) return slot.is_trained ? TensorKind::parameter : TensorKind::statistic;
  if (!row.is_integer || slot.known.dtype == DType::boolean) return TensorKind::constant;
  const std::string_view family = operator_row(op).family;
  const bool is_product = family == "convolution" || family == "matmul";
  const bool is_quantized = row.size_bits <= 8 || (is_product && row.size_bits == 32);
  return is_quantized ? TensorKind::parameter : TensorKind::constant;
}

TensorId Engine::tensor_of(Slot& slot, const std::string& name, OperatorId op, std::size_t index) {
  if (!slot.is_stored) {
    if (slot.tensor == kAbsent) throw ShapeError(concat("'", name, "' is a sequence where a tensor was expected"));
    return slot.tensor;
  }
  if (slot.storage < 0) {
    slot.storage = static_cast<std::int32_t>(storage_tensors_.size());
    storage_tensors_.push_back(kAbsent);
  }
  TensorId& tensor = storage_tensors_[slot.storage];
  const TensorKind kind = stored_kind(slot, op, index);
  if (tensor == kAbsent) {
    const DType dtype = slot.stored_dtype != DType::undefined ? slot.stored_dtype : slot.known.dtype;
    tensor = add_tensor(name, dtype, slot.known.shape, kind);
    graph_.tensors[tensor].value = slot.known.value;
  } else if (kind == TensorKind::parameter) {
    graph_.tensors[tensor].kind = kind;  // a weight wherever one reader takes it for one
  }
  return tensor;
}

Node& Engine::emit(OperatorId op, std::string source_operator, std::string name, std::vector<TensorId> inputs,
                   std::vector<TensorId> outputs, Attributes attributes) {
  graph_.nodes.push_back({.name = std::move(name),
                          .op = op,
                          .source_operator = std::move(source_operator),
                          .inputs = std::move(inputs),
                          .outputs = std::move(outputs),
                          .attributes = std::move(attributes),
                          .repeat = repeat_});
  return graph_.nodes.back();
}

Slot Engine::make_activation(const std::string& name, DType dtype, Shape shape) {
  (void)element_count(shape);
  Slot made{.known = {.dtype = dtype, .has_shape = true, .shape = shape}, .is_set = true};
  made.tensor = add_tensor(prefix_ + name, dtype, std::move(shape), TensorKind::activation);
  return made;
}

namespace {

// Inlined bodies and files without names: every name once.
template <typename Named>
void make_names_unique(std::vector<Named>& all) {
  std::unordered_map<std::string, std::int64_t> seen;
  seen.reserve(all.size());
  for (Named& one : all) {
    std::int64_t& count = seen[one.name];
    if (count++ == 0) continue;
    const std::string base = one.name;
    std::string name;
    do {
      name = concat(base, "#", count++);
    } while (seen.contains(name));
    one.name = name;
    seen.emplace(std::move(name), 1);
  }
}

}  // namespace

void Engine::finish() {
  if (!open_statements_.empty()) {
    std::map<std::string, std::vector<std::string>> nodes_of;  // by operator
    for (const auto& [statement, op] : open_statements_) nodes_of[op].push_back(statement->name);
    std::vector<std::string> words;
    std::vector<std::string> operators;
    for (const auto& [op, nodes] : nodes_of) {
      static_assert(kNamedExamples == 1);
      words.push_back(concat(op, " (x", nodes.size(), ", first '", nodes.front(), "')"));
      operators.push_back(op);
    }
    throw UnsupportedOperatorError(
        concat(words.size(), words.size() == 1 ? " unsupported operator: " : " unsupported operators: ", join(words),
               "; latpred has no shape rule for ", words.size() == 1 ? "it" : "them",
               " and the file does not declare the output sizes at this batch"),
        {.node = open_statements_.front().first->name, .op = operators.front()});
  }
  for (const VariableId id : program_.main.outputs) {
    if (id == kAbsent) continue;
    Slot& output = slots_.at(id);
    if (!output.is_set) throw ShapeError(concat("nothing makes the output '", name_of(id), "'"));
    if (output.is_open) throw ShapeError(concat("the sizes of the output '", name_of(id), "' cannot be known"));
    if (output.elements != nullptr) {
      for (Slot element : *output.elements)
        graph_.outputs.push_back(tensor_of(element, name_of(id), OperatorId::unknown, 0));
      continue;
    }
    Slot given = output;
    if (given.stored_dtype != DType::undefined) {  // whoever takes the result takes it as computed
      given.stored_dtype = DType::undefined;
      given.storage = -1;
    }
    graph_.outputs.push_back(tensor_of(given, name_of(id), OperatorId::unknown, 0));
  }
  check_outputs_keep_batch();
  prune(graph_);  // what only shape arithmetic read
  make_names_unique(graph_.nodes);
  for (Node& node : graph_.nodes) node.cost = cost_of(graph_, node);
}

}  // namespace latpred::shapes
