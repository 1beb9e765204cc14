#include "readers/tensorflow/batch_norm_pattern.h"

#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace latpred::readers {
namespace {

// scale * rsqrt(variance + epsilon)
struct Factor {
  VariableId scale = kAbsent;
  VariableId variance = kAbsent;
  double epsilon = 0;
};

class Search {
 public:
  explicit Search(Program& program) : program_(program), makers_(program.variables.size(), nullptr) {}

  void run(Block& block) {
    for (Statement& statement : block.statements) {
      for (Block& body : statement.bodies) run(body);
      // Ahead of its own entry: what is found is made of earlier statements.
      if (statement.op == OperatorId::add) join(statement);
      if (statement.outputs.size() == 1 && statement.outputs[0] != kAbsent) {
        makers_[static_cast<std::size_t>(statement.outputs[0])] = &statement;
      }
    }
  }

 private:
  using Pair = std::array<VariableId, 2>;

  // The statement of kind `op` with two inputs that makes `variable`.
  [[nodiscard]] std::optional<Pair> made_by(OperatorId op, VariableId variable) const {
    const Statement* const maker = maker_of(variable);
    if (maker == nullptr || maker->op != op || maker->inputs.size() != 2) return std::nullopt;
    return Pair{maker->inputs[0], maker->inputs[1]};
  }

  [[nodiscard]] const Statement* maker_of(VariableId variable) const {
    return variable == kAbsent ? nullptr : makers_[static_cast<std::size_t>(variable)];
  }

  // The input of the operator with one input that makes `variable`.
  [[nodiscard]] VariableId made_by_one(OperatorId op, VariableId variable) const {
    const Statement* const maker = maker_of(variable);
    return maker != nullptr && maker->op == op && !maker->inputs.empty() ? maker->inputs[0] : kAbsent;
  }

  // Stored, or stored under another shape or type.
  [[nodiscard]] bool is_stored(VariableId variable) const {
    for (int depth = 0; depth < kMaxHops && variable != kAbsent; ++depth) {
      if (program_.variables[static_cast<std::size_t>(variable)].is_stored) return true;
      const Statement* const maker = maker_of(variable);
      if (maker == nullptr || maker->inputs.empty()) return false;
      switch (maker->op) {
        case OperatorId::reshape:
        case OperatorId::unsqueeze:
        case OperatorId::squeeze:
        case OperatorId::expand:
        case OperatorId::cast:
        case OperatorId::identity:
          variable = maker->inputs[0];
          break;
        default:
          return false;
      }
    }
    return false;
  }

  // The one number that `variable` is.
  [[nodiscard]] std::optional<double> number(VariableId variable) const {
    if (variable == kAbsent) return std::nullopt;
    const Value* const value = program_.variables[static_cast<std::size_t>(variable)].value.get();
    if (value == nullptr || value->reals.size() != 1) return std::nullopt;
    return value->reals.front();
  }

  [[nodiscard]] std::optional<Factor> inverse_deviation(VariableId variable) const {
    const auto sum = made_by(OperatorId::add, made_by_one(OperatorId::rsqrt, variable));
    if (!sum) return std::nullopt;
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const auto epsilon = number((*sum)[1 - side]);
      if (epsilon && is_stored((*sum)[side])) return Factor{.variance = (*sum)[side], .epsilon = *epsilon};
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Factor> factor(VariableId variable) const {
    if (auto plain = inverse_deviation(variable)) return plain;
    const auto product = made_by(OperatorId::mul, variable);
    if (!product) return std::nullopt;
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      auto found = inverse_deviation((*product)[side]);
      if (!found || !is_stored((*product)[1 - side])) continue;
      found->scale = (*product)[1 - side];
      return found;
    }
    return std::nullopt;
  }

  // A product with the factor `factor`: the other side.
  [[nodiscard]] VariableId multiplied(VariableId variable, VariableId factor) const {
    const auto product = made_by(OperatorId::mul, variable);
    if (!product) return kAbsent;
    if ((*product)[0] == factor) return (*product)[1];
    return (*product)[1] == factor ? (*product)[0] : kAbsent;
  }

  // Channels stand where the parameters do not have 1: last where they have one dimension.
  [[nodiscard]] bool is_channels_last(VariableId variance) const {
    const Statement* const maker = maker_of(variance);
    const Variable& variable = program_.variables[static_cast<std::size_t>(variance)];
    std::vector<std::int64_t> sizes;
    if (variable.has_shape) {
      for (const Dimension& dimension : variable.dimensions) sizes.push_back(dimension.size);
    } else if (maker != nullptr && maker->op == OperatorId::reshape && maker->inputs.size() > 1) {
      const Value* const target = maker->inputs[1] == kAbsent
                                      ? nullptr
                                      : program_.variables[static_cast<std::size_t>(maker->inputs[1])].value.get();
      if (target != nullptr) sizes = target->integers;
    } else if (maker != nullptr && maker->op == OperatorId::reshape && maker->attributes.has("shape")) {
      sizes = maker->attributes.integers("shape");
    }
    return sizes.size() < 2 || sizes.back() != 1;
  }

  void join(Statement& statement) {
    if (statement.inputs.size() != 2) return;
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const VariableId product = statement.inputs[side];
      const VariableId offset = statement.inputs[1 - side];
      const auto sides = made_by(OperatorId::mul, product);
      if (!sides) continue;
      for (const std::size_t which : {std::size_t{0}, std::size_t{1}}) {
        const VariableId multiplier = (*sides)[which];
        const VariableId multiplicand = (*sides)[1 - which];
        const auto found = factor(multiplier);
        if (found && rewrite(statement, *found, multiplier, multiplicand, offset)) return;
      }
    }
  }

  bool rewrite(Statement& statement, const Factor& found, VariableId multiplier, VariableId x, VariableId offset) {
    VariableId bias = kAbsent;
    VariableId mean = kAbsent;
    if (const auto shift = made_by(OperatorId::sub, offset)) {
      mean = multiplied((*shift)[1], multiplier);
      bias = (*shift)[0];
    } else if (const VariableId negated = made_by_one(OperatorId::neg, offset); negated != kAbsent) {
      mean = multiplied(negated, multiplier);
    } else if (const VariableId negative = made_by_one(OperatorId::neg, multiplied(offset, multiplier));
               negative != kAbsent) {
      mean = negative;
    } else if (const auto centred = made_by(OperatorId::sub, x)) {
      x = (*centred)[0];
      mean = (*centred)[1];
      bias = offset;
    }
    if (mean == kAbsent || !is_stored(mean) || (bias != kAbsent && !is_stored(bias)) || is_stored(x)) return false;
    statement.op = OperatorId::batch_norm;
    statement.inputs = {x, found.scale, bias, mean, found.variance};
    statement.attributes.set("epsilon", found.epsilon);
    if (is_channels_last(found.variance)) statement.attributes.set("channels_last", std::int64_t{1});
    return true;
  }

  static constexpr int kMaxHops = 8;

  Program& program_;
  std::vector<const Statement*> makers_;  // by variable
};

}  // namespace

void join_batch_norms(Program& program) { Search(program).run(program.main); }

}  // namespace latpred::readers
