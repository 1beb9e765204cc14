#include <algorithm>
#include <limits>
#include <optional>

#include "latpred/error.h"
#include "latpred/text.h"
#include "shapes/engine.h"
#include "shapes/fold.h"

namespace latpred::shapes {
namespace {

// A loop whose sizes or values change from turn to turn is written out turn by turn, up to here.
constexpr std::int64_t kMaxUnrolledTurns = 64;

Slot scalar(DType dtype, std::int64_t number) {
  Value value{.dtype = dtype, .integers = {number}};
  return {.known = {.dtype = dtype, .has_shape = true, .value = std::make_shared<const Value>(std::move(value))},
          .is_set = true,
          .is_stored = true,
          .depends_on_sizes = true};
}

bool same_sizes(const Slot& a, const Slot& b) {
  if (a.is_open || b.is_open || (a.elements == nullptr) != (b.elements == nullptr)) return false;
  if (a.elements == nullptr) return a.known.shape == b.known.shape && a.known.dtype == b.known.dtype;
  return std::equal(a.elements->begin(), a.elements->end(), b.elements->begin(), b.elements->end(), same_sizes);
}

}  // namespace

// What Loop and Scan have in common. The body reads [turn, condition,] states, scanned steps and gives [condition,]
// states, steps of the stacked results.
struct Engine::Loop {
  const Statement& statement;
  const Block& body;
  bool has_condition;  // Loop
  std::size_t num_states;
  std::vector<Slot> states;   // before the first turn
  std::vector<Slot> scanned;  // what Scan walks along, and the axis for each
  std::vector<std::int64_t> scanned_axes;
  std::vector<std::int64_t> stacked_axes;
  std::optional<std::int64_t> count;
  bool is_count_data = false;  // it has a number of turns, which only the data tell
  std::int64_t batch = 0;      // of Scan's first version, whose tensors have a leading batch axis; 0: none

  [[nodiscard]] std::size_t first_state_input() const { return has_condition ? 2 : 0; }
  [[nodiscard]] std::size_t first_state_output() const { return has_condition ? 1 : 0; }
  [[nodiscard]] std::size_t first_stacked() const { return first_state_output() + num_states; }
  [[nodiscard]] bool passes_through(std::size_t output, std::size_t input) const {
    return body.outputs[output] == body.inputs[input];
  }
};

void Engine::loop(const Statement& statement) {
  if (statement.bodies.size() != 1) throw ShapeError("has no body");
  const Block& body = statement.bodies.front();
  const std::size_t num_states = statement.inputs.size() < 2 ? 0 : statement.inputs.size() - 2;
  Loop loop{.statement = statement, .body = body, .has_condition = true, .num_states = num_states};
  for (std::size_t i = 0; i < num_states; ++i) loop.states.push_back(input_slot(statement, i + 2));
  const auto given = [&](std::size_t index) {
    return index < statement.inputs.size() && statement.inputs[index] != kAbsent;
  };
  if (given(0)) {
    loop.count = known_scalar(input_slot(statement, 0));
    loop.is_count_data = !loop.count;
  }
  const auto starts = given(1) ? known_scalar(input_slot(statement, 1)) : std::optional<std::int64_t>(1);
  if (loop.count) loop.count = std::max<std::int64_t>(0, *loop.count);
  if (starts && *starts == 0) loop.count = 0;
  iterate(loop);
}

void Engine::scan(const Statement& statement) {
  if (statement.bodies.size() != 1) throw ShapeError("has no body");
  const Block& body = statement.bodies.front();
  const bool has_batch = statement.attributes.integer("opset", 9) < 9;
  const std::size_t first = has_batch ? 1 : 0;  // the first version's input 0 is the sequences' lengths
  const std::int64_t declared = statement.attributes.integer("num_scan_inputs", 1);
  if (declared < 0 || static_cast<std::size_t>(declared) + first > statement.inputs.size()) {
    throw ShapeError(concat("num_scan_inputs is ", declared, ", it has ", statement.inputs.size(), " inputs"));
  }
  const auto num_scanned = static_cast<std::size_t>(declared);
  const std::size_t num_states = statement.inputs.size() - first - num_scanned;
  Loop loop{.statement = statement, .body = body, .has_condition = false, .num_states = num_states};
  const auto axes = statement.attributes.integers("scan_input_axes");
  loop.stacked_axes = statement.attributes.integers("scan_output_axes");
  for (std::size_t i = 0; i < num_states; ++i) {
    Slot state = input_slot(statement, first + i);
    if (has_batch && !state.known.shape.empty()) {
      tensor_of(state, name_of(statement.inputs[first + i]), statement.op, 0);
      state.known.shape.erase(state.known.shape.begin());
      state.known.value = nullptr;
    }
    loop.states.push_back(std::move(state));
  }
  for (std::size_t i = 0; i < num_scanned; ++i) {
    const Slot& scanned = input_slot(statement, first + num_states + i);
    const auto rank = static_cast<std::int64_t>(scanned.known.shape.size());
    std::int64_t axis = has_batch ? 1 : (i < axes.size() ? axes[i] : 0);
    if (axis < -rank || axis >= rank) {
      throw ShapeError(concat("scans axis ", axis, " of ", shape_text(scanned.known.shape)));
    }
    if (axis < 0) axis += rank;
    const std::int64_t size = scanned.known.shape[static_cast<std::size_t>(axis)];
    if (loop.count && *loop.count != size) {
      throw ShapeError(concat("its scanned inputs have ", *loop.count, " and ", size, " steps"));
    }
    loop.count = size;
    if (has_batch) loop.batch = scanned.known.shape.front();
    loop.scanned.push_back(scanned);
    loop.scanned_axes.push_back(axis);
  }
  if (!loop.count) throw ShapeError("scans nothing");
  iterate(loop);
}

void Engine::iterate(Loop& loop) {
  const std::size_t num_inputs = loop.first_state_input() + loop.num_states + loop.scanned.size();
  if (loop.body.inputs.size() != num_inputs || loop.body.outputs.size() < loop.first_stacked() ||
      loop.statement.outputs.size() > loop.body.outputs.size() - loop.first_state_output()) {
    throw ShapeError(concat("its body takes ", loop.body.inputs.size(), " values and gives ", loop.body.outputs.size(),
                            ", which does not fit its ", loop.statement.inputs.size(), " inputs and ",
                            loop.statement.outputs.size(), " outputs"));
  }
  const Mark start = mark();
  try {
    if (repeat_once(loop)) return;
  } catch (const ShapeError&) {
    // Some size needs the values of each turn: they are known when the loop is written out.
  }
  rewind(start);
  unroll(loop);
}

Slot Engine::one_step_of(const Loop& loop, std::size_t scanned, std::int64_t turn, bool is_unrolled) {
  const VariableId input = loop.body.inputs[loop.first_state_input() + loop.num_states + scanned];
  Slot source = loop.scanned[scanned];
  const auto axis = static_cast<std::size_t>(loop.scanned_axes[scanned]);
  Shape shape = source.known.shape;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  if (loop.batch > 0) shape.erase(shape.begin());
  Slot step = make_activation(name_of(input), source.known.dtype, shape);
  Attributes attributes;
  attributes.set("axis", static_cast<std::int64_t>(axis));
  Slot index = scalar(DType::int64, is_unrolled ? turn : 0);
  const TensorId data = tensor_of(source, name_of(input), OperatorId::gather, 0);
  const TensorId where = tensor_of(index, prefix_ + "step", OperatorId::gather, 1);
  emit(OperatorId::gather, loop.statement.source_operator, prefix_ + name_of(input), {data, where}, {step.tensor},
       std::move(attributes));
  return step;
}

std::vector<Slot> Engine::run_body(const Loop& loop, const std::vector<Slot>& states, std::int64_t turn,
                                   bool is_unrolled) {
  const std::string outer = prefix_;
  prefix_ += loop.statement.name + (is_unrolled ? concat("#", turn, "/") : "/");
  if (loop.has_condition) {
    Slot number = scalar(DType::int64, turn);
    if (!is_unrolled) {  // one turn stands for all: it must not be computed from its number
      number.tensor = tensor_of(number, prefix_ + "turn", OperatorId::loop, 0);
      number.is_stored = false;
      number.known.value = nullptr;
    }
    bind(loop.body.inputs[0], std::move(number));
    bind(loop.body.inputs[1], scalar(DType::boolean, 1));
  }
  for (std::size_t i = 0; i < states.size(); ++i) {
    Slot state = states[i];
    const std::size_t input = loop.first_state_input() + i;
    const bool changes = !loop.passes_through(loop.first_state_output() + i, input);
    if (!is_unrolled && changes && state.is_stored && state.elements == nullptr) {
      state.tensor = tensor_of(state, name_of(loop.body.inputs[input]), loop.statement.op, input);
      state.is_stored = false;
    }
    if (!is_unrolled && changes) state.known.value = nullptr;
    bind(loop.body.inputs[input], std::move(state));
  }
  for (std::size_t i = 0; i < loop.scanned.size(); ++i) {
    bind(loop.body.inputs[loop.first_state_input() + loop.num_states + i], one_step_of(loop, i, turn, is_unrolled));
  }
  walk(loop.body);
  prefix_ = outer;
  std::vector<Slot> outputs;
  for (const VariableId id : loop.body.outputs) {
    if (id == kAbsent || !slot(id).is_set) throw ShapeError("nothing makes one of its body's outputs");
    outputs.push_back(slot(id));
  }
  return outputs;
}

// One turn stands for all of them, where sizes are the same in each. False where they are not, or where the number of
// turns is not known this way.
bool Engine::repeat_once(Loop& loop) {
  if (!loop.count) return false;
  const std::int64_t outer = repeat_;
  const std::int64_t turns = loop.batch > 0 ? *loop.count * loop.batch : *loop.count;
  if (turns > 0 && __builtin_mul_overflow(repeat_, turns, &repeat_))
    throw ShapeError("its turns are too many to count");
  const std::size_t num_nodes = graph_.nodes.size();
  std::vector<Slot> outputs = run_body(loop, loop.states, 0, false);
  repeat_ = outer;
  if (loop.has_condition && !loop.passes_through(0, 1)) {
    const auto goes_on = known_scalar(outputs[0]);
    if (!goes_on || *goes_on == 0) return false;
  }
  for (std::size_t i = 0; i < loop.num_states; ++i) {
    if (!same_sizes(loop.states[i], outputs[loop.first_state_output() + i])) return false;
  }
  std::vector<Slot> states(outputs.begin() + static_cast<std::ptrdiff_t>(loop.first_state_output()),
                           outputs.begin() + static_cast<std::ptrdiff_t>(loop.first_stacked()));
  if (turns == 0) {
    graph_.nodes.resize(num_nodes);
    states = loop.states;
  }
  std::vector<std::vector<Slot>> stacked;
  for (std::size_t i = loop.first_stacked(); i < outputs.size(); ++i) stacked.push_back({outputs[i]});
  bind_results(loop, std::move(states), stacked, *loop.count);
  return true;
}

void Engine::unroll(Loop& loop) {
  std::vector<Slot> states = loop.states;
  std::vector<std::vector<Slot>> stacked(loop.body.outputs.size() - loop.first_stacked());
  std::int64_t turn = 0;
  bool goes_on = true;
  std::size_t nodes_of_one = 0;
  std::vector<Slot> states_of_one;
  for (; goes_on && (!loop.count || turn < *loop.count); ++turn) {
    if (turn == kMaxUnrolledTurns) {
      throw ShapeError(concat("its sizes change from turn to turn, and it has more than ", kMaxUnrolledTurns,
                              " turns; such loops are not written out"));
    }
    std::vector<Slot> outputs = run_body(loop, states, turn, true);
    states.assign(outputs.begin() + static_cast<std::ptrdiff_t>(loop.first_state_output()),
                  outputs.begin() + static_cast<std::ptrdiff_t>(loop.first_stacked()));
    for (std::size_t i = 0; i < stacked.size(); ++i) stacked[i].push_back(outputs[loop.first_stacked() + i]);
    if (turn == 0) {
      nodes_of_one = graph_.nodes.size();
      states_of_one = states;
    }
    const bool may_end = loop.has_condition && !loop.passes_through(0, 1);
    if (loop.count && !may_end) continue;
    if (loop.is_count_data || !may_end) {
      goes_on = false;
    } else if (const auto condition = known_scalar(outputs[0])) {
      goes_on = *condition != 0;
      continue;
    }
    // When it ends depends on the data.
    graph_.nodes.resize(nodes_of_one);
    for (std::vector<Slot>& elements : stacked) elements.resize(1);
    states = states_of_one;
    graph_.warnings.push_back(concat(name_of(loop.statement), ": control flow: predicted for one iteration"));
    turn = 0;
    goes_on = false;
  }
  bind_results(loop, std::move(states), stacked, turn);
}

void Engine::bind_results(Loop& loop, std::vector<Slot> states, const std::vector<std::vector<Slot>>& stacked,
                          std::int64_t count) {
  const auto& results = loop.statement.outputs;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i] == kAbsent) continue;
    if (i < loop.num_states) {
      Slot state = std::move(states[i]);
      if (count > 1 || loop.batch > 0) state.known.value = state.is_stored ? state.known.value : nullptr;
      if (loop.batch > 0) {
        Shape shape = state.known.shape;
        shape.insert(shape.begin(), loop.batch);
        Slot whole = make_activation(name_of(results[i]), state.known.dtype, std::move(shape));
        const TensorId part = tensor_of(state, name_of(results[i]), loop.statement.op, i);
        emit(loop.statement.op, loop.statement.source_operator, prefix_ + name_of(results[i]), {part}, {whole.tensor},
             {});
        state = std::move(whole);
      }
      bind(results[i], std::move(state));
      continue;
    }
    const std::size_t which = i - loop.num_states;
    if (stacked[which].empty()) throw ShapeError("its stacked outputs have no turn to take sizes from");
    Shape shape = stacked[which].front().known.shape;
    const auto rank = static_cast<std::int64_t>(shape.size()) + 1;
    std::int64_t axis = which < loop.stacked_axes.size() ? loop.stacked_axes[which] : 0;
    if (axis < -rank || axis >= rank) throw ShapeError(concat("stacks along axis ", axis, " of ", rank));
    if (axis < 0) axis += rank;
    shape.insert(shape.begin() + axis, count);
    if (loop.batch > 0) shape.insert(shape.begin(), loop.batch);
    const DType dtype = stacked[which].front().known.dtype;
    if (count == 0) {  // nothing makes it: its body never ran
      Value nothing{.dtype = dtype, .shape = shape};
      bind(results[i], {.known = {.dtype = dtype,
                                  .has_shape = true,
                                  .shape = shape,
                                  .value = std::make_shared<const Value>(std::move(nothing))},
                        .is_stored = true,
                        .depends_on_sizes = true});
      continue;
    }
    Slot whole = make_activation(name_of(results[i]), dtype, std::move(shape));
    std::vector<TensorId> parts;
    for (Slot part : stacked[which]) {
      if (!same_sizes(part, stacked[which].front())) throw ShapeError("stacks results of different sizes");
      parts.push_back(tensor_of(part, name_of(results[i]), loop.statement.op, i));
    }
    emit(loop.statement.op, loop.statement.source_operator, prefix_ + name_of(results[i]), std::move(parts),
         {whole.tensor}, {});
    bind(results[i], std::move(whole));
  }
}

}  // namespace latpred::shapes
