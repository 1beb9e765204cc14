#include <charconv>
#include <string>
#include <utility>

#include "latpred/text.h"
#include "readers/tensorflow/tensorflow_defaults.h"
#include "readers/tensorflow/tensorflow_lowering.h"

// A node as the converters see it.
namespace latpred::readers::tensorflow {
namespace {

template <typename Number>
Number number_of(std::string_view text) {
  Number number{};
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

Attributes settings(std::vector<std::pair<std::string, AttributeValue>> items) {
  Attributes attributes;
  for (auto& [name, value] : items) attributes.set(std::move(name), std::move(value));
  return attributes;
}

void Node::fail(const std::string& what) const {
  lowering_.source().fail(concat("node '", message_.name, "' (", message_.op, ") at byte ", message_.offset, " ", what),
                          message_.offset);
}

VariableId Node::input(std::size_t index) const {
  if (index >= inputs_.size()) fail(concat("has ", inputs_.size(), " inputs, input ", index, " is missing"));
  return inputs_[index];
}

std::optional<ValueMessage> Node::find(std::string_view name) const {
  for (std::uint32_t i = message_.attributes.first; i < message_.attributes.second; ++i) {
    const AttributeMessage& attribute = body_.list.attributes[i];
    if (attribute.name == name) return parse_value(lowering_.source(), attribute.value);
  }
  return std::nullopt;
}

std::string_view Node::default_text(std::string_view name) const {
  if (const RegistryRow* const row = registry_row(message_.op)) {
    if (const auto text = default_of(*row, name)) return *text;
  }
  fail(concat("lacks the attribute '", name, "', which has no default"));
}

std::int64_t Node::integer(std::string_view name) const {
  const auto value = find(name);
  return value ? value->integer : number_of<std::int64_t>(default_text(name));
}

double Node::real(std::string_view name) const {
  const auto value = find(name);
  return value ? value->real : number_of<double>(default_text(name));
}

std::string Node::text(std::string_view name) const {
  const auto value = find(name);
  if (!value) return std::string(default_text(name));
  constexpr std::size_t kLongestText = 4096;
  if (value->content.size() > kLongestText || !is_utf8(value->content)) fail(concat("has no text in '", name, "'"));
  return std::string(value->content);
}

std::vector<std::int64_t> Node::integers(std::string_view name) const {
  const auto value = find(name);
  if (value) return parse_list(lowering_.source(), value->content).integers;
  std::vector<std::int64_t> result;
  std::string_view rest = default_text(name);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    result.push_back(number_of<std::int64_t>(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return result;
}

DType Node::dtype(std::string_view name) const {
  const DType dtype = dtype_of(integer(name));
  if (dtype == DType::undefined) fail(concat("has in '", name, "' a type that no network computes with"));
  return dtype;
}

std::string_view Node::function(std::string_view name) const {
  const auto value = find(name);
  if (!value || value->kind != ValueKind::function) fail(concat("names no function in '", name, "'"));
  return value->content;
}

std::optional<std::vector<std::int64_t>> Node::known(std::size_t index) const {
  const auto value = lowering_.probe().value(input(index));
  if (value == nullptr || !value->reals.empty()) return std::nullopt;
  return value->integers;
}

std::vector<std::int64_t> Node::integers_of(std::size_t index, std::string_view what) const {
  auto found = known(index);
  if (!found) {
    fail(concat("computes its ", what, " (input ", index,
                ") while the network runs, which is not read; export it with a number there"));
  }
  return std::move(*found);
}

std::int64_t Node::integer_of(std::size_t index, std::string_view what) const {
  const auto found = integers_of(index, what);
  if (found.size() != 1) fail(concat("needs one number for its ", what, ", got ", found.size()));
  return found.front();
}

std::optional<Shape> Node::sizes_of(std::size_t index) const { return lowering_.probe().shape(input(index)); }

std::optional<std::vector<Dimension>> Node::declared(std::size_t index) const {
  if (!declared_) {
    const auto value = find("_output_shapes");
    const bool has_list = value && value->kind == ValueKind::list;
    declared_ = has_list ? parse_list(lowering_.source(), value->content).contents : std::vector<Message>{};
  }
  if (index >= declared_->size()) return std::nullopt;
  ShapeMessage shape = parse_shape(lowering_.source(), (*declared_)[index]);
  if (!shape.has_rank) return std::nullopt;
  return std::move(shape.dimensions);
}

namespace {

// Rearranges stored content: done twice to the same content it is one stored tensor all the same.
bool rearranges(OperatorId op) {
  switch (op) {
    case OperatorId::reshape:
    case OperatorId::unsqueeze:
    case OperatorId::squeeze:
    case OperatorId::transpose:
      return true;
    default:
      return false;
  }
}

std::string key_of(OperatorId op, const std::vector<VariableId>& inputs, const Attributes& attributes) {
  std::string key = concat(static_cast<int>(op));
  for (const VariableId input : inputs) key += concat(' ', input);
  for (const auto& [name, value] : attributes.items()) {
    key += concat(' ', name);
    if (const auto* const integers = std::get_if<std::vector<std::int64_t>>(&value)) key += shape_text(*integers);
  }
  return key;
}

}  // namespace

void Node::append(OperatorId op, std::vector<VariableId> inputs, Attributes attributes,
                  std::vector<VariableId> results) {
  Statement statement{.op = op,
                      .source_operator = std::string(message_.op),
                      .name = std::string(message_.name),
                      .inputs = std::move(inputs),
                      .outputs = std::move(results),
                      .attributes = std::move(attributes)};
  lowering_.probe().run(statement);
  // Where no rule tells, the file may.
  for (const VariableId result : statement.outputs) lowering_.take_declared(result);
  lowering_.assembly().append_part(std::move(statement));
}

std::vector<VariableId> Node::parts(OperatorId op, std::vector<VariableId> inputs, Attributes attributes,
                                    std::size_t num_results) {
  lowering_.count_results(*this, num_results);
  std::vector<VariableId> results;
  for (std::size_t i = 0; i < num_results; ++i) {
    results.push_back(lowering_.assembly().result(std::string(message_.name)));
  }
  append(op, std::move(inputs), std::move(attributes), results);
  return results;
}

VariableId Node::part(OperatorId op, std::vector<VariableId> inputs, Attributes attributes) {
  return parts(op, std::move(inputs), std::move(attributes), 1).front();
}

void Node::result(OperatorId op, std::vector<VariableId> inputs, Attributes attributes, std::size_t num_results) {
  const bool is_rearranged = rearranges(op) && !inputs.empty() && lowering_.is_fixed(inputs[0]);
  const std::string key = is_rearranged ? key_of(op, inputs, attributes) : std::string();
  if (const auto known = is_rearranged ? lowering_.find_rearranged(key) : kAbsent; known != kAbsent) {
    results_ = {known};
    return;
  }
  lowering_.count_results(*this, num_results);
  results_.clear();
  for (std::size_t i = 0; i < num_results; ++i) {
    std::string name(message_.name);
    if (i > 0) name += concat(":", i);
    results_.push_back(lowering_.assembly().result(std::move(name), DType::undefined, declared(i)));
  }
  append(op, std::move(inputs), std::move(attributes), results_);
  if (is_rearranged) lowering_.note_rearranged(key, results_.front());
}

VariableId Node::integers_constant(const std::vector<std::int64_t>& values) {
  return lowering_.noted(lowering_.assembly().integers(std::string(message_.name), values));
}

VariableId Node::scalar_constant(DType dtype, double value) {
  return lowering_.noted(lowering_.assembly().scalar(std::string(message_.name), dtype, value));
}

}  // namespace latpred::readers::tensorflow
