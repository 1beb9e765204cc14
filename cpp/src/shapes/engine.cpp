#include "shapes/engine.h"

#include <algorithm>
#include <stdexcept>

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred::shapes {
namespace {

// Guards against files made to exhaust us.
constexpr int kMaxBodyDepth = 64;
constexpr std::int64_t kMaxBodyVisits = 100'000;  // statements in bodies, each as often as it is written out

// Run again they give something else, so that no runtime folds them away.
bool is_random(OperatorId op) {
  switch (op) {
    case OperatorId::random_normal:
    case OperatorId::random_normal_like:
    case OperatorId::random_uniform:
    case OperatorId::random_uniform_like:
    case OperatorId::multinomial:
    case OperatorId::bernoulli:
      return true;
    default:
      return false;
  }
}

// Arithmetic on sizes that no kernel does, in a program whose `folds_stored` is false.
constexpr std::string_view kHostAttribute = "host";

// Hands on the content it gets, so that the type in the file still says how many bytes the content has.
bool keeps_content(OperatorId op) {
  switch (op) {
    case OperatorId::dequantize_linear:
    case OperatorId::identity:
    case OperatorId::dropout:
    case OperatorId::reshape:
    case OperatorId::flatten:
    case OperatorId::squeeze:
    case OperatorId::unsqueeze:
    case OperatorId::transpose:
      return true;
    default:
      return false;
  }
}

bool shares_content(OperatorId op) { return op == OperatorId::identity || op == OperatorId::dropout; }

}  // namespace

Engine::Engine(const Program& program, const InputSizes& sizes, const Engine* saved, const Enlarged* enlarged)
    : program_(program),
      sizes_(sizes),
      saved_(saved),
      enlarged_(enlarged),
      rebatch_{.saved = sizes.saved_batch,
               .asked = sizes.asked_batch,
               .is_static = sizes.is_static,
               .input = sizes.batch_input},
      needed_(program.variables.size()),
      slots_(program.variables.size()) {}

Graph Engine::run() {
  for (const VariableId id : program_.main.outputs) needed_.at(id) = 1;
  mark_needed(program_.main, 0);
  set_inputs();
  walk(program_.main);
  finish();
  return std::move(graph_);
}

void Engine::mark_needed(const Block& block, int depth) {
  if (depth > kMaxBodyDepth) throw ShapeError(concat("bodies are nested deeper than ", kMaxBodyDepth));
  for (auto statement = block.statements.rbegin(); statement != block.statements.rend(); ++statement) {
    const bool is_needed = std::any_of(statement->outputs.begin(), statement->outputs.end(),
                                       [&](VariableId id) { return id != kAbsent && needed_.at(id) != 0; });
    if (!is_needed) continue;
    for (const VariableId id : statement->inputs) {
      if (id != kAbsent) needed_.at(id) = 1;
    }
    for (const Block& body : statement->bodies) {
      for (const VariableId id : body.outputs) {
        if (id != kAbsent) needed_.at(id) = 1;
      }
      mark_needed(body, depth + 1);
    }
  }
}

void Engine::set_inputs() {
  for (std::size_t i = 0; i < program_.variables.size(); ++i) {
    const Variable& variable = program_.variables[i];
    if (!variable.is_stored) continue;
    Slot& slot = slots_[i];
    slot.is_set = slot.is_stored = true;
    slot.is_trained = variable.is_trained;
    slot.known.dtype = variable.dtype;
    slot.known.value = variable.value;
    if (variable.value != nullptr) {
      slot.known.shape = variable.value->shape;
    } else if (const auto shape = declared_shape(variable, {})) {
      slot.known.shape = *shape;
    } else {
      throw ShapeError(concat("the stored tensor '", variable.name, "' has no sizes in the file"));
    }
    slot.known.has_shape = true;
    (void)element_count(slot.known.shape);
  }
  for (std::size_t k = 0; k < sizes_.variables.size(); ++k) {
    const VariableId id = sizes_.variables[k];
    const Variable& variable = program_.variables[id];
    Slot& slot = slots_[id];
    slot.is_set = true;
    slot.known = {.dtype = variable.dtype, .has_shape = true, .shape = sizes_.asked[k]};
    if (variable.is_sequence) {
      slot.is_open = true;  // nobody says how many elements it has
      continue;
    }
    if (element_count(slot.known.shape) == 0) {  // nothing in it: its content is known
      slot.known.value = std::make_shared<const Value>(Value{.dtype = variable.dtype, .shape = slot.known.shape});
    }
    slot.tensor = add_tensor(variable.name, variable.dtype, slot.known.shape, TensorKind::input);
    graph_.inputs.push_back(slot.tensor);
  }
}

void Engine::walk(const Block& block) {
  if (++depth_ > kMaxBodyDepth) throw ShapeError(concat("bodies are nested deeper than ", kMaxBodyDepth));
  for (const Statement& statement : block.statements) {
    const bool is_needed = std::any_of(statement.outputs.begin(), statement.outputs.end(),
                                       [&](VariableId id) { return id != kAbsent && needed_[id] != 0; });
    if (is_needed) visit(statement);
  }
  --depth_;
}

void Engine::visit(const Statement& statement) {
  if (depth_ > 1 && ++body_visits_ > kMaxBodyVisits) {
    throw InvalidArgumentError(concat("written out, the bodies of its branches and loops have more than ",
                                      grouped_digits(kMaxBodyVisits), " operators"));
  }
  for (const VariableId id : statement.inputs) {
    if (id != kAbsent && !slots_.at(id).is_set) {
      throw ShapeError(concat(name_of(statement), ": reads '", name_of(id), "' before anything makes it"),
                       {.node = statement.name, .op = statement.source_operator});
    }
  }
  const Handler* control = handler(statement.op);
  const Rule rule = control == nullptr ? find_rule(statement.op) : nullptr;
  if (is_open(statement)) {  // what is open upstream is reported at the end
    if (control == nullptr && rule == nullptr) open_statements_.emplace_back(&statement, statement.source_operator);
    for (const VariableId id : statement.outputs) {
      if (id != kAbsent) bind(id, {.is_open = true});
    }
    return;
  }
  try {
    if (control != nullptr) {
      (this->*control->run)(statement);
    } else if (rule != nullptr) {
      apply_rule(statement, rule);
    } else {
      take_declared(statement);
    }
  } catch (UnsupportedOperatorError&) {
    throw;
  } catch (Error& error) {
    if (error.data().node.empty()) {
      error.data().node = statement.name;
      error.data().op = statement.source_operator;
      error.add_context(name_of(statement));
    }
    if (saved_ == nullptr || dynamic_cast<const ShapeError*>(&error) == nullptr) throw;
    const std::string message = error.what();
    if (message.find("re-export") != std::string::npos) throw;
    refuse_batch(statement.name, message);
  } catch (const std::out_of_range&) {
    throw ShapeError(concat(name_of(statement), ": one of its inputs has fewer elements than it declares"),
                     {.node = statement.name, .op = statement.source_operator});
  }
}

bool Engine::is_open(const Statement& statement) const {
  return std::any_of(statement.inputs.begin(), statement.inputs.end(),
                     [&](VariableId id) { return id != kAbsent && slots_[id].is_open; });
}

void Engine::apply_rule(const Statement& statement, Rule rule) {
  std::vector<const Known*> inputs;
  std::vector<const Shape*> saved_inputs;
  std::vector<const Shape*> saved_outputs;
  inputs.reserve(statement.inputs.size());
  const auto saved_shape = [&](VariableId id) -> const Shape* {
    return id != kAbsent && saved_->slots_[id].known.has_shape ? &saved_->slots_[id].known.shape : nullptr;
  };
  for (const VariableId id : statement.inputs) {
    if (id != kAbsent && slots_[id].elements != nullptr) throw ShapeError("takes tensors, not a sequence");
    inputs.push_back(id == kAbsent ? nullptr : &slots_[id].known);
    if (saved_ != nullptr) saved_inputs.push_back(saved_shape(id));
  }
  if (saved_ != nullptr) {
    for (const VariableId id : statement.outputs) saved_outputs.push_back(saved_shape(id));
  }
  RuleContext context(statement, std::move(inputs), std::move(saved_inputs), std::move(saved_outputs),
                      saved_ == nullptr ? nullptr : &rebatch_);
  rule(context);
  if (!enlarge(statement, context.outputs())) {  // which settles what its rule was in doubt of
    for (const std::string& warning : context.warnings()) {
      graph_.warnings.push_back(concat(name_of(statement), ": ", warning));
    }
  }
  for (std::size_t i = 0; i < statement.outputs.size(); ++i) {
    if (statement.outputs[i] != kAbsent && !context.outputs()[i].has_shape) {
      throw ShapeError(
          concat("its output ", i, " '", name_of(statement.outputs[i]), "' is more than this operator gives"));
    }
  }
  take_declared_types(statement, context.outputs());
  place(statement, std::move(context.outputs()), !is_random(statement.op));
  check_declared(statement);
}

bool Engine::enlarge(const Statement& statement, std::vector<Known>& outputs) const {
  if (enlarged_ == nullptr || saved_ == nullptr || statement.outputs.empty()) return false;
  const auto found = enlarged_->find(statement.outputs[0]);
  if (found == enlarged_->end()) return false;
  Known& output = outputs[0];
  const Shape* saved = saved_->shape_of(statement.outputs[0]);
  if (saved == nullptr || output.shape != *saved) return false;  // it has grown already
  std::int64_t& size = output.shape.at(found->second);
  if (__builtin_mul_overflow(size, rebatch_.asked, &size) || size % rebatch_.saved != 0) return false;
  size /= rebatch_.saved;
  output.value = nullptr;
  (void)element_count(output.shape);
  return true;
}

const Shape* Engine::shape_of(VariableId variable) const {
  if (variable == kAbsent) return nullptr;
  const Slot& slot = slots_.at(static_cast<std::size_t>(variable));
  return slot.is_set && slot.known.has_shape ? &slot.known.shape : nullptr;
}

void Engine::take_declared(const Statement& statement) {
  std::vector<Known> outputs(statement.outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const VariableId id = statement.outputs[i];
    if (id == kAbsent) continue;
    const Variable& variable = program_.variables[id];
    const auto shape = declared_now(variable);
    if (!shape) {
      open_statements_.emplace_back(&statement, statement.source_operator);
      for (const VariableId output : statement.outputs) {
        if (output != kAbsent) bind(output, {.is_open = true});
      }
      return;
    }
    outputs[i] = {.dtype = variable.dtype, .has_shape = true, .shape = *shape};
  }
  place(statement, std::move(outputs), false);
}

// PyTorch's promotion of types has more to it than rules know (numbers do not count, sums of booleans are integers),
// and its files declare every type.
void Engine::take_declared_types(const Statement& statement, std::vector<Known>& outputs) const {
  if (program_.folds_stored) return;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (statement.outputs[i] == kAbsent) continue;
    const DType declared = program_.variables[statement.outputs[i]].dtype;
    if (declared == DType::undefined || declared == outputs[i].dtype) continue;
    outputs[i].dtype = declared;
    outputs[i].value = nullptr;
  }
}

void Engine::check_declared(const Statement& statement) {
  for (const VariableId id : statement.outputs) {
    if (id == kAbsent || !program_.variables[id].has_shape) continue;
    const auto declared = declared_now(program_.variables[id]);
    const Shape& found = slots_[id].known.shape;
    if (declared && *declared != found && warned_.insert(name_of(id)).second) {
      graph_.warnings.push_back(concat(name_of(statement), ": the file says that '", name_of(id), "' is ",
                                       shape_text(*declared), ", its operators make it ", shape_text(found)));
    }
  }
}

// In a file with a number for its batch, what it declares holds at that batch only.
std::optional<Shape> Engine::declared_now(const Variable& variable) const {
  if (saved_ != nullptr && sizes_.is_static) return std::nullopt;
  auto shape = declared_shape(variable, sizes_.symbols);
  // Exporters write 0 for a size that they do not know.
  if (shape && std::find(shape->begin(), shape->end(), 0) != shape->end()) return std::nullopt;
  return shape;
}

void Engine::place(const Statement& statement, std::vector<Known> outputs, bool may_fold) {
  bool inputs_stored = true;
  bool is_trained = false;
  bool depends_on_sizes = false;
  for (const VariableId id : statement.inputs) {
    if (id == kAbsent) continue;
    inputs_stored = inputs_stored && slots_[id].is_stored;
    is_trained = is_trained || slots_[id].is_trained;
    depends_on_sizes = depends_on_sizes || slots_[id].depends_on_sizes || !slots_[id].is_stored;
  }
  bool has_values = true;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (statement.outputs[i] != kAbsent) has_values = has_values && outputs[i].value != nullptr;
    if (outputs[i].dtype == DType::undefined && statement.outputs[i] != kAbsent) {
      outputs[i].dtype = program_.variables[statement.outputs[i]].dtype;
    }
  }
  // A framework that runs what it reads, operator by operator, leaves to the host only what the reader marks so; no
  // size depends on the content of the other results.
  if (!program_.folds_stored && !statement.attributes.has(kHostAttribute)) {
    may_fold = false;
    for (Known& output : outputs) output.value = nullptr;
  }
  if (may_fold && ((inputs_stored && program_.folds_stored) || has_values)) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (statement.outputs[i] == kAbsent) continue;
      Slot folded{.known = std::move(outputs[i]),
                  .is_stored = true,
                  .is_trained = is_trained,
                  .depends_on_sizes = depends_on_sizes};
      if (keeps_content(statement.op) && !statement.inputs.empty() && statement.inputs[0] != kAbsent && i == 0) {
        const Slot& source = input_slot(statement, 0);
        const DType stored = source.stored_dtype != DType::undefined ? source.stored_dtype : source.known.dtype;
        if (stored != folded.known.dtype) folded.stored_dtype = stored;
        if (shares_content(statement.op)) folded.storage = source.storage;
      }
      bind(statement.outputs[i], std::move(folded));
    }
    return;
  }
  std::vector<TensorId> input_tensors;
  input_tensors.reserve(statement.inputs.size());
  for (std::size_t i = 0; i < statement.inputs.size(); ++i) {
    const VariableId id = statement.inputs[i];
    input_tensors.push_back(id == kAbsent ? kAbsent : tensor_of(slots_[id], name_of(id), statement.op, i));
  }
  std::vector<TensorId> output_tensors;
  output_tensors.reserve(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const VariableId id = statement.outputs[i];
    if (id == kAbsent) {
      output_tensors.push_back(kAbsent);
      continue;
    }
    Slot made{.known = std::move(outputs[i])};
    made.tensor = add_tensor(prefix_ + name_of(id), made.known.dtype, made.known.shape, TensorKind::activation);
    output_tensors.push_back(made.tensor);
    bind(id, std::move(made));
  }
  emit(statement.op, statement.source_operator, prefix_ + statement.name, std::move(input_tensors),
       std::move(output_tensors), statement.attributes);
}

std::string Engine::name_of(const Statement& statement) const {
  const std::string& op =
      statement.source_operator.empty() ? std::string(operator_row(statement.op).name) : statement.source_operator;
  return concat("node '", prefix_, statement.name, "' (", op, ")");
}

const std::string& Engine::name_of(VariableId variable) const { return program_.variables.at(variable).name; }

Slot& Engine::slot(VariableId variable) { return slots_.at(variable); }

const Slot& Engine::input_slot(const Statement& statement, std::size_t index) {
  if (index >= statement.inputs.size() || statement.inputs[index] == kAbsent) {
    throw ShapeError(concat("input ", index, " is missing"));
  }
  Slot& found = slots_.at(statement.inputs[index]);
  // Stored content that is handed on under another name stays one tensor.
  if (found.is_stored && found.storage < 0) {
    found.storage = static_cast<std::int32_t>(storage_tensors_.size());
    storage_tensors_.push_back(kAbsent);
  }
  return found;
}

void Engine::bind(VariableId variable, Slot slot) {
  if (variable == kAbsent) return;
  slot.is_set = true;
  slots_.at(variable) = std::move(slot);
}

Engine::Mark Engine::mark() const {
  return {graph_.nodes.size(), graph_.warnings.size(), open_statements_.size(), prefix_, repeat_, depth_};
}

void Engine::rewind(const Mark& mark) {
  graph_.nodes.resize(mark.num_nodes);
  graph_.warnings.resize(mark.num_warnings);
  open_statements_.resize(mark.num_open);
  prefix_ = mark.prefix;
  repeat_ = mark.repeat;
  depth_ = mark.depth;
}

void Engine::refuse_batch(const std::string& where, const std::string& why) const {
  throw ShapeError(concat("input '", rebatch_.input, "' is fixed at batch ", rebatch_.saved, " and '", where,
                          "' bakes it in (", why, "); re-export with a dynamic batch dimension"),
                   {.node = where});
}

void Engine::check_outputs_keep_batch() const {
  if (saved_ == nullptr || !sizes_.is_static) return;
  for (const VariableId id : program_.main.outputs) {
    const Known& now = slots_[id].known;
    const Known& then = saved_->slots_[id].known;
    if (slots_[id].is_stored || !then.has_shape || then.shape.empty()) continue;
    if (then.shape.front() == sizes_.saved_batch && now.shape == then.shape) {
      refuse_batch(name_of(id), concat("this output stays ", shape_text(now.shape), " at batch ", sizes_.asked_batch));
    }
  }
}

}  // namespace latpred::shapes
