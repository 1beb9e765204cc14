#include "shapes/baked.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "latpred/error.h"
#include "shapes/engine.h"

namespace latpred::shapes {
namespace {

// Bounds of the search: networks have a handful of such tensors, each near where it is read.
constexpr std::size_t kMaxWalkedStatements = 200'000;
constexpr std::size_t kMaxWalks = 64;
constexpr std::size_t kMaxCandidates = 8;

// Makes a tensor of the size that it is told.
bool is_told_its_size(OperatorId op) {
  switch (op) {
    case OperatorId::constant_of_shape:
    case OperatorId::expand:
    case OperatorId::range:
    case OperatorId::random_normal:
    case OperatorId::random_uniform:
      return true;
    default:
      return false;
  }
}

class Search {
 public:
  Search(const Program& program, const InputSizes& sizes, const Engine& saved)
      : program_(program), sizes_(sizes), saved_(saved) {
    const auto& statements = program.main.statements;
    for (std::size_t i = 0; i < statements.size(); ++i) {
      by_name_.emplace(statements[i].name, i);
      for (const VariableId id : statements[i].outputs) makers_.emplace(id, i);
    }
    walks_left_ = std::min(kMaxWalks, kMaxWalkedStatements / std::max<std::size_t>(1, statements.size()) + 1);
  }

  Graph run() {
    // Expanding to the size that it has already: code does so where a size is the batch.
    Enlarged enlarged = sizes_.saved_batch == 1 && !program_.folds_stored ? idle_expansions() : Enlarged();
    if (!enlarged.empty()) {
      if (auto graph = attempt(enlarged, 0)) return std::move(*graph);
      enlarged.clear();
    }
    if (auto graph = attempt(enlarged, 0)) return std::move(*graph);
    throw *first_error_;
  }

 private:
  [[nodiscard]] Enlarged idle_expansions() const {
    Enlarged found;
    for (const Statement& statement : program_.main.statements) {
      if (statement.op != OperatorId::expand || statement.inputs.empty() || statement.outputs.size() != 1) continue;
      const Shape* before = saved_.shape_of(statement.inputs[0]);
      const Shape* after = saved_.shape_of(statement.outputs[0]);
      if (before != nullptr && after != nullptr && *before == *after && !after->empty() && after->front() == 1) {
        found.emplace(statement.outputs[0], 0);
      }
    }
    return found;
  }

  // The walk with `enlarged`, and what must be enlarged beside them for it to get through; nothing where it stops
  // before statement `least`.
  std::optional<Graph> attempt(Enlarged& enlarged, std::size_t least) {
    if (walks_left_ == 0) return std::nullopt;
    --walks_left_;
    std::size_t stopped = 0;
    try {
      return Engine(program_, sizes_, &saved_, &enlarged).run();
    } catch (const ShapeError& error) {
      // What was enlarged without being asked for has no say in what is wrong.
      if (!first_error_ || enlarged.empty()) first_error_ = error;
      const auto found = by_name_.find(error.data().node);
      if (found == by_name_.end() || found->second < least) return std::nullopt;
      stopped = found->second;
    }
    for (const VariableId candidate : candidates(stopped)) {
      const Shape& shape = *saved_.shape_of(candidate);
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (!may_be_batch(candidate, axis) || !enlarged.emplace(candidate, axis).second) continue;
        if (auto graph = attempt(enlarged, stopped)) return graph;
        enlarged.erase(candidate);
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] bool may_be_batch(VariableId candidate, std::size_t axis) const {
    const Shape& shape = *saved_.shape_of(candidate);
    if (shape[axis] != sizes_.saved_batch) return false;
    const Statement& statement = program_.main.statements[makers_.at(candidate)];
    if (statement.op != OperatorId::expand) return true;
    // It repeats what has size 1; else the batch comes from its input.
    const Shape* before = statement.inputs.empty() ? nullptr : saved_.shape_of(statement.inputs[0]);
    if (before == nullptr) return false;
    const std::size_t num_new = shape.size() - std::min(before->size(), shape.size());
    return axis < num_new || (*before)[axis - num_new] == 1;
  }

  // Baked tensors that statement `index` depends on, the nearest first.
  [[nodiscard]] std::vector<VariableId> candidates(std::size_t index) const {
    std::vector<VariableId> found;
    std::deque<std::size_t> next{index};
    std::unordered_set<std::size_t> seen{index};
    while (!next.empty() && found.size() < kMaxCandidates) {
      const Statement& statement = program_.main.statements[next.front()];
      next.pop_front();
      if (is_told_its_size(statement.op) && saved_.shape_of(statement.outputs[0]) != nullptr) {
        found.push_back(statement.outputs[0]);
      }
      for (const VariableId id : statement.inputs) {
        const auto maker = makers_.find(id);
        if (maker != makers_.end() && seen.insert(maker->second).second) next.push_back(maker->second);
      }
    }
    return found;
  }

  const Program& program_;
  const InputSizes& sizes_;
  const Engine& saved_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
  std::unordered_map<VariableId, std::size_t> makers_;
  std::size_t walks_left_ = 0;
  std::optional<ShapeError> first_error_;
};

}  // namespace

Graph run_rebatched(const Program& program, const InputSizes& sizes, const Engine& saved) {
  return Search(program, sizes, saved).run();
}

}  // namespace latpred::shapes
