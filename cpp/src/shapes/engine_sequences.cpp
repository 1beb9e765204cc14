#include <algorithm>
#include <memory>
#include <optional>

#include "latpred/error.h"
#include "latpred/text.h"
#include "shapes/engine.h"
#include "shapes/fold.h"
#include "shapes/split.h"

namespace latpred::shapes {
namespace {

using Elements = std::vector<Slot>;

Slot sequence_of(Elements elements) {
  Slot slot{.is_set = true, .is_stored = false};
  if (!elements.empty()) slot.known.dtype = elements.front().known.dtype;
  slot.elements = std::make_shared<const Elements>(std::move(elements));
  return slot;
}

const Elements& elements_of(const Slot& slot) {
  if (slot.elements == nullptr) throw ShapeError("takes a sequence, not a tensor");
  return *slot.elements;
}

Slot known_integer(DType dtype, std::int64_t number) {
  Value value{.dtype = dtype, .integers = {number}};
  return {.known = {.dtype = dtype, .has_shape = true, .value = std::make_shared<const Value>(std::move(value))},
          .is_set = true,
          .is_stored = true,
          .depends_on_sizes = true};
}

// A position in [-size, size), or in [-size, size] for an insertion.
std::size_t known_position(const Slot& slot, std::size_t size, bool may_be_end) {
  const Value* value = slot.known.value.get();
  if (value == nullptr || size_of(*value) != 1) {
    throw ShapeError("its position is computed from data, so sizes cannot be known before it runs");
  }
  std::int64_t at = integer_at(*value, 0);
  const auto count = static_cast<std::int64_t>(size);
  if (at < -count || at > (may_be_end ? count : count - 1)) {
    throw ShapeError(concat("position ", at, " is outside a sequence of ", size));
  }
  return static_cast<std::size_t>(at < 0 ? at + count : at);
}

bool has_input(const Statement& statement, std::size_t index) {
  return index < statement.inputs.size() && statement.inputs[index] != kAbsent;
}

}  // namespace

void Engine::sequence_construct(const Statement& statement) {
  Elements elements;
  for (std::size_t i = 0; i < statement.inputs.size(); ++i) elements.push_back(input_slot(statement, i));
  bind(statement.outputs.at(0), sequence_of(std::move(elements)));
}

void Engine::sequence_empty(const Statement& statement) { bind(statement.outputs.at(0), sequence_of({})); }

void Engine::sequence_insert(const Statement& statement) {
  Elements elements = elements_of(input_slot(statement, 0));
  const Slot element = input_slot(statement, 1);
  const std::size_t at =
      has_input(statement, 2) ? known_position(input_slot(statement, 2), elements.size(), true) : elements.size();
  elements.insert(elements.begin() + static_cast<std::ptrdiff_t>(at), element);
  bind(statement.outputs.at(0), sequence_of(std::move(elements)));
}

void Engine::sequence_erase(const Statement& statement) {
  Elements elements = elements_of(input_slot(statement, 0));
  if (elements.empty()) throw ShapeError("takes from an empty sequence");
  const std::size_t at =
      has_input(statement, 1) ? known_position(input_slot(statement, 1), elements.size(), false) : elements.size() - 1;
  elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(at));
  bind(statement.outputs.at(0), sequence_of(std::move(elements)));
}

void Engine::sequence_at(const Statement& statement) {
  const Elements& elements = elements_of(input_slot(statement, 0));
  const Slot& where = input_slot(statement, 1);
  const auto same = [&](const Slot& element) { return element.known.shape == elements.front().known.shape; };
  if (where.known.value == nullptr && !elements.empty() && std::all_of(elements.begin(), elements.end(), same)) {
    bind(statement.outputs.at(0), Slot(elements.front()));  // whichever it is, its sizes are these
    return;
  }
  bind(statement.outputs.at(0), Slot(elements[known_position(where, elements.size(), false)]));
}

void Engine::sequence_length(const Statement& statement) {
  const auto count = static_cast<std::int64_t>(elements_of(input_slot(statement, 0)).size());
  bind(statement.outputs.at(0), known_integer(DType::int64, count));
}

void Engine::sequence_map(const Statement& statement) {
  if (statement.bodies.size() != 1) throw ShapeError("has no body");
  const Block& body = statement.bodies.front();
  if (body.inputs.size() != statement.inputs.size() || body.outputs.size() < statement.outputs.size()) {
    throw ShapeError("its body does not fit its inputs and outputs");
  }
  const std::size_t count = elements_of(input_slot(statement, 0)).size();
  std::vector<Elements> results(statement.outputs.size());
  const std::string outer = prefix_;
  for (std::size_t turn = 0; turn < count; ++turn) {
    for (std::size_t i = 0; i < statement.inputs.size(); ++i) {
      const Slot& input = input_slot(statement, i);
      if (input.elements != nullptr && input.elements->size() != count) {
        throw ShapeError("its sequences differ in length");
      }
      bind(body.inputs[i], Slot(input.elements != nullptr ? (*input.elements)[turn] : input));
    }
    prefix_ = concat(outer, statement.name, "#", turn, "/");
    walk(body);
    prefix_ = outer;
    for (std::size_t i = 0; i < results.size(); ++i) results[i].push_back(slot(body.outputs.at(i)));
  }
  for (std::size_t i = 0; i < results.size(); ++i) bind(statement.outputs[i], sequence_of(std::move(results[i])));
}

// In the graph: a split with as many outputs as the sequence has elements.
void Engine::split_to_sequence(const Statement& statement) {
  const Slot& input = input_slot(statement, 0);
  const auto rank = static_cast<std::int64_t>(input.known.shape.size());
  std::int64_t axis = statement.attributes.integer("axis", 0);
  if (axis < -rank || axis >= rank) throw ShapeError(concat("axis ", axis, " is outside ", rank, " dimensions"));
  if (axis < 0) axis += rank;
  const std::int64_t size = input.known.shape[static_cast<std::size_t>(axis)];
  std::vector<std::int64_t> sizes;
  bool keeps_axis = true;
  if (has_input(statement, 1)) {
    const Value* value = input_slot(statement, 1).known.value.get();
    if (value == nullptr) throw ShapeError("its parts are computed from data, so sizes cannot be known before it runs");
    sizes = integers_of(*value);
    if (value->shape.empty()) {
      const std::int64_t part = sizes.empty() ? 0 : sizes.front();
      if (part < 1 || size / part > kMaxFoldedElements)
        throw ShapeError(concat("cannot cut ", size, " into parts of ", part));
      sizes.clear();
      for (std::int64_t start = 0; start < size; start += part) sizes.push_back(std::min(part, size - start));
    }
  } else {
    if (size > kMaxFoldedElements) throw ShapeError(concat("makes a sequence of ", size, " elements"));
    sizes.assign(static_cast<std::size_t>(size), 1);
    keeps_axis = statement.attributes.integer("keepdims", 1) != 0;
  }
  std::int64_t sum = 0;
  for (const std::int64_t part : sizes) {
    if (part < 0 || __builtin_add_overflow(sum, part, &sum)) throw ShapeError("its parts are no sizes");
  }
  if (sum != size) throw ShapeError(concat("its parts ", shape_text(sizes), " do not add up to ", size));
  const Shape shape = input.known.shape;
  const DType dtype = input.known.dtype;
  const TensorId whole = tensor_of(slot(statement.inputs[0]), name_of(statement.inputs[0]), OperatorId::split, 0);
  Elements elements;
  std::vector<TensorId> parts;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    Shape part = shape;
    if (keeps_axis) {
      part[static_cast<std::size_t>(axis)] = sizes[k];
    } else {
      part.erase(part.begin() + axis);
    }
    elements.push_back(make_activation(concat(name_of(statement.outputs.at(0)), "#", k), dtype, std::move(part)));
    parts.push_back(elements.back().tensor);
  }
  Attributes attributes;
  attributes.set("axis", axis);
  attributes.set("split", sizes);
  emit(OperatorId::split, statement.source_operator, prefix_ + statement.name, {whole}, std::move(parts),
       std::move(attributes));
  bind(statement.outputs.at(0), sequence_of(std::move(elements)));
}

// In the graph: a concatenation of the elements.
void Engine::concat_from_sequence(const Statement& statement) {
  Elements elements = elements_of(input_slot(statement, 0));
  if (elements.empty()) throw ShapeError("joins an empty sequence");
  const bool is_stack = statement.attributes.integer("new_axis", 0) != 0;
  std::int64_t axis = statement.attributes.integer("axis", 0);
  std::vector<Shape> shapes;
  std::vector<TensorId> parts;
  const auto rank = static_cast<std::int64_t>(elements.front().known.shape.size()) + (is_stack ? 1 : 0);
  if (axis < -rank || axis >= rank) throw ShapeError(concat("axis ", axis, " is outside ", rank, " dimensions"));
  if (axis < 0) axis += rank;
  for (Slot& element : elements) {
    Shape shape = element.known.shape;
    if (is_stack) {
      if (static_cast<std::int64_t>(shape.size()) + 1 != rank) throw ShapeError("stacks tensors of different rank");
      shape.insert(shape.begin() + axis, 1);
    }
    shapes.push_back(std::move(shape));
    parts.push_back(tensor_of(element, name_of(statement.outputs.at(0)), OperatorId::concat, parts.size()));
  }
  const RuleContext context(statement, {});
  Slot whole =
      make_activation(name_of(statement.outputs.at(0)), elements.front().known.dtype, joined(context, shapes, axis));
  Attributes attributes;
  attributes.set("axis", axis);
  emit(OperatorId::concat, statement.source_operator, prefix_ + statement.name, std::move(parts), {whole.tensor},
       std::move(attributes));
  bind(statement.outputs.at(0), std::move(whole));
}

// An optional is what it holds; without an input it is left unset.
void Engine::optional(const Statement& statement) {
  if (has_input(statement, 0)) bind(statement.outputs.at(0), Slot(input_slot(statement, 0)));
}

void Engine::optional_get_element(const Statement& statement) {
  bind(statement.outputs.at(0), Slot(input_slot(statement, 0)));
}

void Engine::optional_has_element(const Statement& statement) {
  bind(statement.outputs.at(0), known_integer(DType::boolean, has_input(statement, 0) ? 1 : 0));
}

}  // namespace latpred::shapes
