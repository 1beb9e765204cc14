#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "normalize/rules.h"

namespace latpred {
namespace {

// One operator after the other towards the front of the graph, remembering what it went through. Every step asks that
// nothing else reads what it passes.
class Path {
 public:
  explicit Path(const Rewriter& rewriter) : rewriter_(&rewriter) {}

  [[nodiscard]] const std::vector<NodeId>& members() const { return members_; }
  void take(const Node& node) {
    const NodeId id = rewriter_->id_of(node);
    if (std::find(members_.begin(), members_.end(), id) == members_.end()) members_.push_back(id);
  }
  // The maker of `id`, where it is an `op`; nullptr otherwise.
  const Node* through(TensorId id, OperatorId op) {
    const Node* node = rewriter_->maker(id, op);
    if (node != nullptr) take(*node);
    return node;
  }

  // Whether only the members read what they make; the last member's output is the result.
  [[nodiscard]] bool is_closed(TensorId result) const {
    const auto is_member = [&](NodeId id) { return std::find(members_.begin(), members_.end(), id) != members_.end(); };
    return std::all_of(members_.begin(), members_.end(), [&](NodeId id) {
      const Node& node = rewriter_->node(id);
      return std::all_of(node.outputs.begin(), node.outputs.end(), [&](TensorId made) {
        if (made == kAbsent || made == result) return true;
        const auto& readers = rewriter_->readers(made);
        return !rewriter_->is_output(made) && std::all_of(readers.begin(), readers.end(), is_member);
      });
    });
  }
  [[nodiscard]] bool is_one_body() const {
    return std::all_of(members_.begin(), members_.end(), [&](NodeId id) {
      return rewriter_->node(id).repeat == rewriter_->node(members_.front()).repeat;
    });
  }
  // The result's node last, as Rewriter::replace wants it.
  [[nodiscard]] std::vector<NodeId> ordered() const {
    std::vector<NodeId> result = members_;
    std::sort(result.begin(), result.end());
    return result;
  }

 private:
  const Rewriter* rewriter_;
  std::vector<NodeId> members_;
};

// How many of the last dimensions a mean is taken over; nothing where it is over others or they vanish.
std::optional<std::int64_t> last_dimensions(const Rewriter& rewriter, const Node& mean) {
  const Tensor& x = rewriter.tensor(mean.inputs[0]);
  const Tensor& result = rewriter.tensor(mean.outputs[0]);
  const auto rank = static_cast<std::int64_t>(x.shape.size());
  std::vector<std::int64_t> axes = mean.attributes.integers("axes");
  if (axes.empty() && mean.inputs.size() > 1 && mean.inputs[1] != kAbsent) {
    if (const Value* value = rewriter.tensor(mean.inputs[1]).value.get()) axes = value->integers;
  }
  if (axes.empty() || result.shape.size() != x.shape.size()) return std::nullopt;
  for (std::int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  std::sort(axes.begin(), axes.end());
  const auto count = static_cast<std::int64_t>(axes.size());
  for (std::int64_t i = 0; i < count; ++i) {
    if (axes[i] != rank - count + i) return std::nullopt;
  }
  return count;
}

struct Normalized {
  TensorId x = kAbsent;
  std::int64_t count = 0;  // dimensions
  bool has_mean = false;   // taken off first
};

// mean(square(t)) + epsilon, or nothing.
struct MeanSquare {
  TensorId of = kAbsent;     // what is squared
  TensorId minus = kAbsent;  // what is taken off it in the same operator
  std::int64_t count = 0;
};

class NormMatcher {
 public:
  explicit NormMatcher(const Rewriter& rewriter) : rewriter_(rewriter), path_(rewriter) {}

  Path& path() { return path_; }

  // x / deviation, x * (1 / deviation): of what, over what.
  std::optional<Normalized> quotient(const Node& root) {
    if (root.inputs.size() != 2) return std::nullopt;
    if (root.op == OperatorId::div) return normalized(root.inputs[0], deviation(root.inputs[1]));
    for (const std::size_t side : {0, 1}) {
      const Path start = path_;
      if (const auto square = inverse_deviation(root.inputs[1 - side])) {
        if (auto found = normalized(root.inputs[side], square)) return found;
      }
      path_ = start;
    }
    return std::nullopt;
  }

  std::optional<MeanSquare> inverse_deviation(TensorId id) {
    if (const Node* root = path_.through(id, OperatorId::rsqrt)) return mean_square(root->inputs[0]);
    if (const Node* node = path_.through(id, OperatorId::reciprocal)) return deviation(node->inputs[0]);
    const Node* node = rewriter_.maker(id, OperatorId::div);
    if (node != nullptr && node->inputs.size() == 2 && rewriter_.is_number(node->inputs[0], 1)) {
      path_.take(*node);
      return deviation(node->inputs[1]);
    }
    return std::nullopt;
  }

  // The mean over the last dimensions of `x`, where `id` is one.
  std::optional<std::int64_t> mean_of(TensorId id, TensorId x) {
    const Node* mean = rewriter_.maker(id, OperatorId::reduce_mean);
    if (mean == nullptr || mean->inputs[0] != x) return std::nullopt;
    path_.take(*mean);
    return last_dimensions(rewriter_, *mean);
  }

 private:
  std::optional<MeanSquare> deviation(TensorId id) {
    const Node* root = path_.through(id, OperatorId::sqrt);
    if (root != nullptr) return mean_square(root->inputs[0]);
    const Node* power = rewriter_.maker(id, OperatorId::pow);
    if (power == nullptr || power->inputs.size() != 2 || !rewriter_.is_number(power->inputs[1], 0.5))
      return std::nullopt;
    path_.take(*power);
    return mean_square(power->inputs[0]);
  }

  // mean(t^2) + epsilon; without the epsilon it is no norm that anybody runs.
  std::optional<MeanSquare> mean_square(TensorId id) {
    const Node* sum = path_.through(id, OperatorId::add);
    if (sum == nullptr || sum->inputs.size() != 2) return std::nullopt;
    const std::size_t side = rewriter_.is_scalar(sum->inputs[1]) ? 0 : 1;
    if (!rewriter_.is_scalar(sum->inputs[1 - side])) return std::nullopt;
    const Node* mean = path_.through(sum->inputs[side], OperatorId::reduce_mean);
    if (mean == nullptr) return std::nullopt;
    const auto count = last_dimensions(rewriter_, *mean);
    const Node* square = rewriter_.maker(mean->inputs[0]);
    if (!count || square == nullptr || square->inputs.size() != 2) return std::nullopt;
    path_.take(*square);
    const bool is_product = square->op == OperatorId::mul && square->inputs[0] == square->inputs[1];
    const bool is_power = square->op == OperatorId::pow && rewriter_.is_number(square->inputs[1], 2);
    if (is_product || is_power) return MeanSquare{.of = square->inputs[0], .count = *count};
    if (square->op == OperatorId::squared_difference) {
      return MeanSquare{.of = square->inputs[0], .minus = square->inputs[1], .count = *count};
    }
    return std::nullopt;
  }

  // `numerator` over the root of `square`: x - mean(x) over its own deviation, or x over its own root mean square.
  std::optional<Normalized> normalized(TensorId numerator, const std::optional<MeanSquare>& square) {
    if (!square || rewriter_.is_stored(numerator)) return std::nullopt;
    const Node* centered = rewriter_.maker(numerator, OperatorId::sub);
    if (centered != nullptr && centered->inputs.size() == 2) {
      const TensorId x = centered->inputs[0];
      const TensorId mean = centered->inputs[1];
      const Node* squared = rewriter_.maker(square->of, OperatorId::sub);
      // Exporters write the difference once or twice.
      const bool same = square->of == numerator || (squared != nullptr && squared->inputs == centered->inputs) ||
                        (square->of == x && square->minus == mean);
      if (same && rewriter_.maker(mean, OperatorId::reduce_mean) != nullptr) {
        if (squared != nullptr) path_.take(*squared);
        path_.take(*centered);
        const auto count = mean_of(mean, x);
        if (!count || *count != square->count) return std::nullopt;
        return Normalized{x, *count, true};
      }
    }
    if (square->of != numerator || square->minus != kAbsent) return std::nullopt;
    return Normalized{numerator, square->count, false};
  }

  const Rewriter& rewriter_;
  Path path_;
};

// A stored tensor that has one number for each element of the normalized dimensions.
bool is_affine(const Rewriter& rewriter, TensorId id, const Shape& shape, std::int64_t count) {
  if (!rewriter.is_stored(id) || rewriter.is_scalar(id)) return false;
  Shape stored = rewriter.tensor(id).shape;
  while (static_cast<std::int64_t>(stored.size()) > count && stored.front() == 1) stored.erase(stored.begin());
  return stored == Shape(shape.end() - count, shape.end());
}

// Takes in a product with, or a sum of, stored numbers behind `result`.
TensorId take_affine(const Rewriter& rewriter, Path& path, OperatorId op, std::int64_t count, TensorId& result) {
  const Node* next = rewriter.only_reader(result);
  if (next == nullptr || next->op != op) return kAbsent;
  const TensorId stored = Rewriter::other_input(*next, result);
  if (stored == kAbsent || !is_affine(rewriter, stored, rewriter.tensor(result).shape, count)) return kAbsent;
  path.take(*next);
  result = next->outputs[0];
  return stored;
}

void make_norm(Rewriter& rewriter, const Path& path, const Normalized& found, TensorId weight, TensorId bias,
               TensorId result) {
  if (rewriter.tensor(found.x).shape != rewriter.tensor(result).shape) return;
  if (!path.is_closed(result) || !path.is_one_body()) return;
  Node made{.op = found.has_mean ? OperatorId::layer_norm : OperatorId::rms_norm, .inputs = {found.x}};
  if (weight != kAbsent || bias != kAbsent) made.inputs.push_back(weight);
  if (bias != kAbsent) made.inputs.push_back(bias);
  made.attributes.set("axis", -found.count);
  rewriter.replace(path.ordered(), std::move(made));
}

// (x - mean) / deviation [* weight] [+ bias]
void divided_norm(Rewriter& rewriter, NodeId root) {
  NormMatcher matcher(rewriter);
  const auto found = matcher.quotient(rewriter.node(root));
  if (!found) return;
  Path& path = matcher.path();
  path.take(rewriter.node(root));
  TensorId result = rewriter.node(root).outputs[0];
  const TensorId weight = take_affine(rewriter, path, OperatorId::mul, found->count, result);
  const TensorId bias =
      found->has_mean ? take_affine(rewriter, path, OperatorId::add, found->count, result) : TensorId{kAbsent};
  make_norm(rewriter, path, *found, weight, bias, result);
}

// TensorFlow's: x * s + (bias - mean * s), s = weight / deviation.
void scaled_norm(Rewriter& rewriter, NodeId root) {
  const Node& sum = rewriter.node(root);
  if (sum.inputs.size() != 2) return;
  for (const std::size_t side : {0, 1}) {
    NormMatcher matcher(rewriter);
    Path& path = matcher.path();
    path.take(sum);
    const Node* scaled = path.through(sum.inputs[side], OperatorId::mul);
    const Node* offset = path.through(sum.inputs[1 - side], OperatorId::sub);
    if (scaled == nullptr || offset == nullptr || scaled->inputs.size() != 2 || offset->inputs.size() != 2) continue;
    const Node* shift = path.through(offset->inputs[1], OperatorId::mul);
    if (shift == nullptr || shift->inputs.size() != 2) continue;
    // The factor that both products share.
    TensorId factor = kAbsent;
    for (const TensorId id : scaled->inputs) {
      if (Rewriter::other_input(*shift, id) != kAbsent) factor = id;
    }
    if (factor == kAbsent) continue;
    const TensorId x = Rewriter::other_input(*scaled, factor);
    const TensorId mean = Rewriter::other_input(*shift, factor);
    const Node* weighted = path.through(factor, OperatorId::mul);
    if (weighted == nullptr || weighted->inputs.size() != 2) continue;
    const std::size_t stored = rewriter.is_stored(weighted->inputs[1]) ? 1 : 0;
    const TensorId weight = weighted->inputs[stored];
    const auto square = matcher.inverse_deviation(weighted->inputs[1 - stored]);
    if (!square || square->of != x || square->minus != mean) continue;
    const auto count = matcher.mean_of(mean, x);
    if (!count || *count != square->count) continue;
    const Shape& shape = rewriter.tensor(x).shape;
    if (!is_affine(rewriter, weight, shape, *count) || !is_affine(rewriter, offset->inputs[0], shape, *count)) continue;
    make_norm(rewriter, path, {x, *count, true}, weight, offset->inputs[0], sum.outputs[0]);
    return;
  }
}

}  // namespace

void recognize_layer_norm(Rewriter& rewriter) {
  for (NodeId id = 0; id < rewriter.num_nodes(); ++id) {
    if (!rewriter.is_alive(id)) continue;
    const OperatorId op = rewriter.node(id).op;
    if (op == OperatorId::div || op == OperatorId::mul) divided_norm(rewriter, id);
    if (op == OperatorId::add) scaled_norm(rewriter, id);
  }
}

}  // namespace latpred
