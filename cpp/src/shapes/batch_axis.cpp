#include "shapes/batch_axis.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <unordered_map>
#include <utility>

#include "latpred/operators.h"
#include "latpred/shapes.h"
#include "latpred/text.h"

namespace latpred {
namespace shapes {
namespace {

std::string lowered(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// "batch", "batch_size", "input_batch"; no expression of it.
bool says_batch(const std::string& symbol) {
  return lowered(symbol).find("batch") != std::string::npos && symbol.find_first_of("+-*/ (") == std::string::npos;
}

// What people write for it where it stands first.
bool may_abbreviate_batch(const std::string& symbol) {
  const std::string text = lowered(symbol);
  return text == "b" || text == "n" || text == "bs";
}

// PyTorch's name of the first open dimension of an input, where none is given.
bool is_first_open(const Variable& variable, const std::string& symbol) {
  return symbol == concat(variable.name, "_dynamic_axes_1");
}

}  // namespace

BatchAxis::BatchAxis(const Program& program, const std::vector<Variable>& inputs,
                     std::map<std::string, std::int64_t> stated)
    : stated_(std::move(stated)), with_steps_first_(inputs_with_steps_first(program)) {
  if (find_stated(inputs) || find_symbols(inputs)) return;
  const auto first =
      std::find_if(inputs.begin(), inputs.end(), [&](const Variable& variable) { return may_hold_batch(variable); });
  if (first == inputs.end()) return;
  const Dimension& leading = first->dimensions[leading_place(*first)];
  if (leading.size == kUnknownSize) {
    kind_ = leading.symbol.empty() ? Kind::unnamed : Kind::symbol;
    if (!leading.symbol.empty()) symbols_.insert(leading.symbol);
    return;
  }
  const bool are_vectors = std::all_of(inputs.begin(), inputs.end(), [&](const Variable& variable) {
    return variable.dimensions.size() < 2 || !may_hold_batch(variable);
  });
  least_rank_ = are_vectors ? 1 : 2;
  for (const Variable& variable : inputs) {
    if (variable.dimensions.size() < least_rank_ || !may_hold_batch(variable)) continue;
    const std::int64_t size = variable.dimensions[leading_place(variable)].size;
    if (size <= 0 || (are_vectors && size == 1)) continue;
    kind_ = Kind::number;
    size_ = size;
    return;
  }
}

std::int64_t BatchAxis::position(const Variable& variable) const {
  const auto& dimensions = variable.dimensions;
  if (!may_hold_batch(variable)) return kNoBatch;
  const auto place = static_cast<std::int64_t>(leading_place(variable));
  if (stated_.contains(variable.name)) return place;
  const Dimension& leading = dimensions[static_cast<std::size_t>(place)];
  switch (kind_) {
    case Kind::none:
      return kNoBatch;
    case Kind::number:
      return dimensions.size() >= least_rank_ && leading.size == size_ ? place : kNoBatch;
    case Kind::unnamed:
      return leading.size == kUnknownSize && leading.symbol.empty() ? place : kNoBatch;
    case Kind::symbol:
      for (std::size_t i = 0; i < dimensions.size(); ++i) {
        if (dimensions[i].size == kUnknownSize && symbols_.contains(dimensions[i].symbol))
          return static_cast<std::int64_t>(i);
      }
      return kNoBatch;
  }
  return kNoBatch;
}

bool BatchAxis::may_hold_batch(const Variable& variable) const {
  const auto stated = stated_.find(variable.name);
  return !variable.dimensions.empty() && (stated == stated_.end() || stated->second != kNoBatch);
}

std::size_t BatchAxis::leading_place(const Variable& variable) const {
  const auto stated = stated_.find(variable.name);
  if (stated != stated_.end()) return static_cast<std::size_t>(stated->second);
  return variable.dimensions.size() >= 2 && with_steps_first_.contains(variable.name) ? 1 : 0;
}

// What the caller says stands above what the file's names and layers do.
bool BatchAxis::find_stated(const std::vector<Variable>& inputs) {
  for (const Variable& variable : inputs) {
    const auto stated = stated_.find(variable.name);
    if (stated == stated_.end() || !may_hold_batch(variable)) continue;
    const Dimension& batch = variable.dimensions.at(static_cast<std::size_t>(stated->second));
    if (batch.size != kUnknownSize) {
      kind_ = Kind::number;
      size_ = batch.size;
      return true;
    }
    kind_ = batch.symbol.empty() ? Kind::unnamed : Kind::symbol;
    if (!batch.symbol.empty()) symbols_.insert(batch.symbol);
  }
  return kind_ != Kind::none;
}

// Names that say so, the clearest first; what stands first in several inputs may have a name in each.
bool BatchAxis::find_symbols(const std::vector<Variable>& inputs) {
  using Rule = bool (*)(const Variable&, const std::string&);
  constexpr std::array<Rule, 3> kRules{
      [](const Variable&, const std::string& symbol) { return says_batch(symbol); },
      [](const Variable&, const std::string& symbol) { return may_abbreviate_batch(symbol); },
      is_first_open,
  };
  for (const Rule rule : kRules) {
    const auto is_named = [&](const Variable& variable, const Dimension& dimension) {
      return dimension.size == kUnknownSize && rule(variable, dimension.symbol);
    };
    for (const Variable& variable : inputs) {
      if (!may_hold_batch(variable)) continue;
      const Dimension& leading = variable.dimensions[leading_place(variable)];
      if (is_named(variable, leading)) symbols_.insert(leading.symbol);
    }
    for (const Variable& variable : inputs) {
      if (!may_hold_batch(variable)) continue;
      const auto found = std::find_if(variable.dimensions.begin(), variable.dimensions.end(),
                                      [&](const Dimension& dimension) { return is_named(variable, dimension); });
      if (symbols_.empty() && found != variable.dimensions.end()) symbols_.insert(found->symbol);
    }
    if (symbols_.empty()) continue;
    kind_ = Kind::symbol;
    return true;
  }
  return false;
}

}  // namespace shapes

namespace {

// Which input of a statement has its steps and batch where the result has them: of a part, of what works on each
// element or on the innermost axis, and of numbers of words.
std::optional<std::size_t> index_of_same_axes(const Statement& statement) {
  constexpr std::array kOthers{OperatorId::identity, OperatorId::dropout,    OperatorId::slice,    OperatorId::split,
                               OperatorId::linear,   OperatorId::layer_norm, OperatorId::embedding};
  const CostKind kind = operator_row(statement.op).kind;
  const bool is_such =
      kind == CostKind::unary || kind == CostKind::cast || std::ranges::count(kOthers, statement.op) > 0;
  const std::size_t index = statement.op == OperatorId::embedding ? 1 : 0;
  const bool is_there = index < statement.inputs.size() && statement.inputs[index] != kAbsent;
  return is_such && is_there ? std::optional(index) : std::nullopt;
}

}  // namespace

std::set<std::string> inputs_with_steps_first(const Program& program) {
  constexpr std::array<std::size_t, 3> kRead{0, 5, 6};  // of the sequence and the two states
  std::unordered_map<VariableId, VariableId> before;    // what has its steps and batch in the same places
  std::set<std::string> names;
  const auto is_input = [&](VariableId id) { return std::ranges::count(program.main.inputs, id) > 0; };
  for (const Statement& statement : program.main.statements) {
    if (const auto from = index_of_same_axes(statement)) {
      for (const VariableId id : statement.outputs) before.emplace(id, statement.inputs[*from]);
    }
    const bool is_recurrent =
        statement.op == OperatorId::lstm || statement.op == OperatorId::gru || statement.op == OperatorId::rnn;
    if (!is_recurrent || statement.attributes.integer("layout", 0) == 1) continue;
    for (const std::size_t index : kRead) {
      if (index >= statement.inputs.size() || statement.inputs[index] == kAbsent) continue;
      VariableId id = statement.inputs[index];
      for (std::size_t turn = 0; turn < before.size() && before.contains(id); ++turn) id = before.at(id);  // no cycle
      if (is_input(id)) names.insert(program.variables[id].name);
    }
  }
  return names;
}

}  // namespace latpred
