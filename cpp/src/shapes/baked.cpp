#include "shapes/baked.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "latpred/error.h"
#include "latpred/text.h"
#include "shapes/engine.h"

namespace latpred::shapes {
namespace {

// Bounds of the search: networks have a handful of such tensors, each near where it is read.
constexpr std::size_t kMaxWalkedStatements = 200'000;
constexpr std::size_t kMaxWalks = 64;
constexpr std::size_t kMaxCandidates = 8;
constexpr std::int64_t kMaxBodyVisits = 100'000;  // of all walks together: a few lines of loops in loops are that much

// A prime that no size of a network equals: what fits at this batch fits at every one, where at a batch of 1 or one
// that happens to be the number of heads it may fit by chance.
constexpr std::int64_t kProbeBatch = 1'000'003;

// Makes a tensor of the size that it is told.
bool is_told_its_size(OperatorId op) {
  switch (op) {
    case OperatorId::constant_of_shape:
    case OperatorId::expand:
    case OperatorId::range:
    case OperatorId::random_normal:
    case OperatorId::random_uniform:
    case OperatorId::tile:
      return true;
    default:
      return false;
  }
}

// `sizes` with another batch.
InputSizes at_batch(const InputSizes& sizes, std::int64_t batch) {
  InputSizes result = sizes;
  result.asked_batch = batch;
  for (std::size_t k = 0; k < sizes.saved.size(); ++k) {
    const Shape& saved = sizes.saved[k];
    for (std::size_t i = 0; i < saved.size(); ++i) {
      const std::int64_t asked = sizes.asked[k].at(i);
      if (saved[i] != asked && saved[i] % sizes.saved_batch == 0 &&
          saved[i] / sizes.saved_batch == asked / sizes.asked_batch) {
        std::int64_t size = 0;
        if (__builtin_mul_overflow(saved[i] / sizes.saved_batch, batch, &size)) {
          throw ShapeError(concat("input ", k, " has a size of ", saved[i], ", too large for another batch"));
        }
        result.asked[k][i] = size;
      }
    }
  }
  return result;
}

// Which tensors carry the batch, found at the batch of `sizes`.
class Search {
 public:
  Search(const Program& program, const InputSizes& sizes, const Engine& saved)
      : program_(program), sizes_(sizes), saved_(saved) {
    const auto& statements = program.main.statements;
    for (std::size_t i = 0; i < statements.size(); ++i) {
      by_name_.emplace(statements[i].name, i);
      for (const VariableId id : statements[i].outputs) makers_.emplace(id, i);
    }
    most_walks_ = std::min(kMaxWalks, kMaxWalkedStatements / std::max<std::size_t>(1, statements.size()) + 1);
    for (const Statement& statement : statements) {
      if (is_doubtful(statement)) doubtful_.push_back(statement.outputs[0]);
    }
  }

  // Nothing where the network fits with none.
  std::optional<Enlarged> run() {
    // A size written down that equals the batch most often is the batch, even where it changes nothing.
    Enlarged all;
    Enlarged expansions;
    for (const VariableId id : doubtful_) {
      all.emplace(id, 0);
      if (is_expansion(id)) expansions.emplace(id, 0);
    }
    std::optional<Enlarged> found;
    if (!all.empty()) found = search(all);
    if (!found && !expansions.empty() && expansions.size() < all.size()) found = search(expansions);
    if (!found) found = search({});
    return found;
  }
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }
  // Where the walk with nothing enlarged stopped.
  [[nodiscard]] const std::string& stopped_at() const { return stopped_at_; }

 private:
  // Whether its first size, a number in the file, may be the batch.
  [[nodiscard]] bool is_doubtful(const Statement& statement) const {
    if (program_.folds_stored || statement.outputs.size() != 1) return false;
    const Shape* made = saved_.shape_of(statement.outputs[0]);
    if (made == nullptr || made->empty()) return false;
    if (is_tile(statement)) return writes_batch(statement, *made);
    if (made->front() != sizes_.saved_batch) return false;
    if (statement.op == OperatorId::range) return sizes_.saved_batch == 1;
    if (statement.op == OperatorId::expand) return writes_batch(statement, *made);
    // Of two inputs the second is a tensor whose batch it has.
    return statement.attributes.has("may_hold_batch") && statement.inputs.size() < 2 && made->size() > 1;
  }

  std::optional<Enlarged> search(Enlarged enlarged) {
    walks_left_ = most_walks_;
    if (!attempt(enlarged, 0)) return std::nullopt;
    walks_left_ = most_walks_;
    for (const VariableId id : doubtful_) {
      if (enlarged.contains(id)) continue;
      Enlarged more = enlarged;
      more.emplace(id, 0);
      if (fits(more)) enlarged = std::move(more);
    }
    warn_of_doubts(enlarged);
    return enlarged;
  }

  // Where the network fits without it too, nothing says which of both the file means.
  void warn_of_doubts(const Enlarged& enlarged) {
    Enlarged settled = enlarged;
    for (const VariableId id : doubtful_) {
      if (!is_expansion(id)) settled.erase(id);
    }
    if (settled.size() == enlarged.size()) return;
    const bool are_all_in_doubt = fits(settled);
    for (const VariableId id : doubtful_) {
      const Statement& statement = program_.main.statements[makers_.at(id)];
      // One number counted up says nothing: nobody writes that but for a size.
      if (!enlarged.contains(id) || statement.op == OperatorId::range || is_expansion(id)) continue;
      Enlarged without = enlarged;
      without.erase(id);
      if (!are_all_in_doubt && may_walk() && !fits(without)) continue;
      warnings_.push_back(concat("node '", statement.name, "' (", statement.source_operator, "): its first size ",
                                 sizes_.saved_batch, " is taken for the batch; re-export with a dynamic batch ",
                                 "dimension if it is another size"));
    }
  }

  [[nodiscard]] bool may_walk() const { return walks_left_ > 0 && body_visits_ < kMaxBodyVisits; }

  // Throws what is in the way.
  void walk(const Enlarged& enlarged) {
    --walks_left_;
    Engine engine(program_, sizes_, &saved_, &enlarged);
    try {
      (void)engine.run();
    } catch (const ShapeError&) {
      body_visits_ += engine.body_visits();
      throw;
    }
    body_visits_ += engine.body_visits();
  }

  bool fits(const Enlarged& enlarged) {
    if (!may_walk()) return false;
    try {
      walk(enlarged);
      return true;
    } catch (const ShapeError&) {
      return false;
    }
  }

  // Whether an expansion's first size is a number in the file that it does not take from its input.
  [[nodiscard]] bool writes_batch(const Statement& statement, const Shape& after) const {
    const Shape* before = statement.inputs.empty() ? nullptr : saved_.shape_of(statement.inputs[0]);
    if (before == nullptr || (before->size() == after.size() && before->front() != 1 && !is_tile(statement))) {
      return false;
    }
    const std::vector<std::int64_t> target = statement.attributes.integers(is_tile(statement) ? "repeats" : "shape");
    if (target.size() != after.size() || target.front() != sizes_.saved_batch) return false;
    // x.repeat(1, n) repeats along other dimensions, and x [4, 1].repeat(1, 1) not along the first.
    return !is_tile(statement) || sizes_.saved_batch != 1 || (*before == after && before->front() == 1);
  }

  [[nodiscard]] static bool is_tile(const Statement& statement) { return statement.op == OperatorId::tile; }

  [[nodiscard]] bool is_expansion(VariableId id) const {
    const OperatorId op = program_.main.statements[makers_.at(id)].op;
    return op == OperatorId::expand || op == OperatorId::tile;
  }

  // Whether a walk gets through with `enlarged`, to which it adds what must be enlarged beside them; false where it
  // stops before statement `least`.
  bool attempt(Enlarged& enlarged, std::size_t least) {
    if (!may_walk()) return false;
    std::size_t stopped = 0;
    try {
      walk(enlarged);
      return true;
    } catch (const ShapeError& error) {
      if (enlarged.empty()) stopped_at_ = error.data().node;
      const auto found = by_name_.find(error.data().node);
      if (found == by_name_.end() || found->second < least) return false;
      stopped = found->second;
    }
    for (const VariableId candidate : candidates(stopped)) {
      const Shape& shape = *saved_.shape_of(candidate);
      std::vector<std::size_t> axes(shape.size());
      std::iota(axes.begin(), axes.end(), std::size_t{0});
      // What is repeated has size 1 at a batch of 1, wherever it stands.
      if (sizes_.saved_batch == 1) {
        std::stable_partition(axes.begin(), axes.end(), [&](std::size_t axis) { return shape[axis] == 1; });
      }
      for (const std::size_t axis : axes) {
        if (!may_be_batch(candidate, axis) || !enlarged.emplace(candidate, axis).second) continue;
        if (attempt(enlarged, stopped)) return true;
        enlarged.erase(candidate);
      }
    }
    return false;
  }

  [[nodiscard]] bool may_be_batch(VariableId candidate, std::size_t axis) const {
    const Shape& shape = *saved_.shape_of(candidate);
    const Statement& statement = program_.main.statements[makers_.at(candidate)];
    if (statement.op == OperatorId::tile) {
      const std::vector<std::int64_t> repeats = statement.attributes.integers("repeats");
      const Shape* before = statement.inputs.empty() ? nullptr : saved_.shape_of(statement.inputs[0]);
      const bool repeats_one = before != nullptr && *before == shape && shape[axis] == 1;
      return repeats.size() == shape.size() && repeats[axis] == sizes_.saved_batch &&
             (axis == 0 || sizes_.saved_batch != 1 || repeats_one);
    }
    // Positions of every row of a batch: arange(batch * tokens).
    if (statement.op == OperatorId::range) return shape[axis] > 0 && shape[axis] % sizes_.saved_batch == 0;
    if (shape[axis] != sizes_.saved_batch) return false;
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
  std::vector<VariableId> doubtful_;
  std::size_t most_walks_ = 0;
  std::size_t walks_left_ = 0;
  std::int64_t body_visits_ = 0;
  std::vector<std::string> warnings_;
  std::string stopped_at_;
};

}  // namespace

Graph run_rebatched(const Program& program, const InputSizes& sizes, const Engine& saved) {
  const InputSizes probe = at_batch(sizes, kProbeBatch);
  Search search(program, probe, saved);
  const auto enlarged = search.run();
  const Enlarged none;
  Graph graph = Engine(program, sizes, &saved, enlarged ? &*enlarged : &none).run();
  if (!enlarged) {
    throw ShapeError(concat("input '", sizes.batch_input, "' is fixed at batch ", sizes.saved_batch, " and '",
                            search.stopped_at(), "' bakes it in; re-export with a dynamic batch dimension"),
                     {.node = search.stopped_at()});
  }
  graph.warnings.insert(graph.warnings.end(), search.warnings().begin(), search.warnings().end());
  return graph;
}

}  // namespace latpred::shapes
