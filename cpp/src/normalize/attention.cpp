#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "normalize/rules.h"

namespace latpred {
namespace {

// softmax(q k^T [* scale] [+ mask]) v, as far as it has been followed.
struct Found {
  TensorId query = kAbsent;
  TensorId key = kAbsent;      // as it stands in the product, [.., size, length]
  bool key_is_turned = false;  // the product turns it itself: [.., length, size]
  TensorId value = kAbsent;
  TensorId mask = kAbsent;
  NodeId turned = -1;  // the transpose whose order has to change, where the key has one of its own
  std::vector<NodeId> members;
};

class AttentionMatcher {
 public:
  explicit AttentionMatcher(const Rewriter& rewriter) : rewriter_(rewriter) {}

  std::optional<Found> match(const Node& softmax) {
    const auto rank = static_cast<std::int64_t>(rewriter_.tensor(softmax.inputs[0]).shape.size());
    const std::int64_t axis = softmax.attributes.integer("axis", -1);
    if (rank < 2 || (axis != -1 && axis != rank - 1)) return std::nullopt;
    Found found;
    if (!climb(softmax.inputs[0], found)) return std::nullopt;
    found.members.push_back(rewriter_.id_of(softmax));
    if (!descend(softmax.outputs[0], found)) return std::nullopt;
    found.query = unscaled(found.query, found);
    if (!find_key(found) || !fits(softmax, found)) return std::nullopt;
    return found;
  }

 private:
  void take(const Node& node, Found& found) const { found.members.push_back(rewriter_.id_of(node)); }

  // From the softmax to the product of queries and keys.
  bool climb(TensorId id, Found& found) const {
    for (int steps = 0; steps < kMaxSteps; ++steps) {
      const Node* node = rewriter_.maker(id);
      if (node == nullptr || !rewriter_.is_inside(id) || node->inputs.empty()) return false;
      take(*node, found);
      switch (node->op) {
        case OperatorId::cast:
          id = node->inputs[0];
          break;
        case OperatorId::matmul:
        case OperatorId::fused_matmul:
          if (node->inputs.size() != 2 || node->attributes.integer("transA", 0) != 0) return false;
          found.query = node->inputs[0];
          found.key = node->inputs[1];
          found.key_is_turned = node->attributes.integer("transB", 0) != 0;
          return node->attributes.integer("transBatchA", 0) == 0 && node->attributes.integer("transBatchB", 0) == 0;
        case OperatorId::mul:
        case OperatorId::div: {
          if (node->inputs.size() != 2) return false;
          const std::size_t scale = rewriter_.is_scalar(node->inputs[1]) ? 1 : 0;
          if (!rewriter_.is_scalar(node->inputs[scale]) || (scale == 0 && node->op == OperatorId::div)) return false;
          id = node->inputs[1 - scale];
          break;
        }
        case OperatorId::add: {
          if (node->inputs.size() != 2 || found.mask != kAbsent) return false;
          for (const std::size_t side : {0, 1}) {
            Found tried = found;
            tried.mask = node->inputs[1 - side];
            if (rewriter_.tensor(node->inputs[side]).shape != rewriter_.tensor(id).shape) continue;
            if (!climb(node->inputs[side], tried)) continue;
            found = std::move(tried);
            return true;
          }
          return false;
        }
        case OperatorId::where: {  // a condition, scores where it holds (or does not), one number elsewhere
          if (node->inputs.size() != 3 || found.mask != kAbsent) return false;
          const std::size_t filler = rewriter_.is_scalar(node->inputs[1]) ? 1 : 2;
          if (!rewriter_.is_scalar(node->inputs[filler])) return false;
          const TensorId scores = node->inputs[3 - filler];
          if (rewriter_.tensor(scores).shape != rewriter_.tensor(id).shape) return false;
          found.mask = node->inputs[0];
          id = scores;
          break;
        }
        default:
          return false;
      }
    }
    return false;
  }

  // From the softmax to the product with the values. Some exporters write that rows without a key are zero:
  // where(is_nan(p), 0, p).
  bool descend(TensorId id, Found& found) const {
    for (int steps = 0; steps < kMaxSteps; ++steps) {
      if (const auto guarded = without_guard(id, found)) {
        id = *guarded;
        continue;
      }
      const Node* node = rewriter_.only_reader(id);
      if (node == nullptr) return false;
      take(*node, found);
      if (node->op == OperatorId::cast) {
        id = node->outputs[0];
        continue;
      }
      if (node->op != OperatorId::matmul && node->op != OperatorId::fused_matmul) return false;
      for (const char* name : {"transA", "transB", "transBatchA", "transBatchB"}) {
        if (node->attributes.integer(name, 0) != 0) return false;
      }
      if (node->inputs.size() != 2 || node->inputs[0] != id) return false;
      found.value = node->inputs[1];
      return found.value != id;
    }
    return false;
  }

  std::optional<TensorId> without_guard(TensorId id, Found& found) const {
    const auto& readers = rewriter_.readers(id);
    if (rewriter_.is_output(id) || readers.size() != 2) return std::nullopt;
    const bool first = rewriter_.node(readers[0]).op == OperatorId::is_nan;
    const Node& test = rewriter_.node(readers[first ? 0 : 1]);
    const Node& choice = rewriter_.node(readers[first ? 1 : 0]);
    if (test.op != OperatorId::is_nan || choice.op != OperatorId::where || choice.inputs.size() != 3) {
      return std::nullopt;
    }
    if (!rewriter_.is_inside(test.outputs[0]) || choice.inputs[0] != test.outputs[0] || choice.inputs[2] != id ||
        !rewriter_.is_scalar(choice.inputs[1])) {
      return std::nullopt;
    }
    take(test, found);
    take(choice, found);
    return choice.outputs[0];
  }

  // `id` before it is multiplied by one number for attention alone.
  TensorId unscaled(TensorId id, Found& found) const {
    const Node* node = rewriter_.maker(id);
    const bool is_scaling = node != nullptr && node->inputs.size() == 2 &&
                            (node->op == OperatorId::mul || node->op == OperatorId::div) && rewriter_.is_inside(id);
    if (!is_scaling) return id;
    const std::size_t scale = rewriter_.is_scalar(node->inputs[1]) ? 1 : 0;
    if (!rewriter_.is_scalar(node->inputs[scale]) || (scale == 0 && node->op == OperatorId::div)) return id;
    take(*node, found);
    return node->inputs[1 - scale];
  }

  // The keys as [.., length, size].
  bool find_key(Found& found) const {
    found.key = unscaled(found.key, found);
    if (found.key_is_turned) return true;
    const Node* node = rewriter_.maker(found.key, OperatorId::transpose);
    if (node == nullptr) return false;
    const auto order = order_of_key(*node);
    if (order.empty()) return false;
    if (std::is_sorted(order.begin(), order.end())) {
      if (rewriter_.is_inside(found.key)) take(*node, found);
      found.key = unscaled(node->inputs[0], found);
      return true;
    }
    if (!rewriter_.is_inside(found.key)) return false;
    found.turned = rewriter_.id_of(*node);
    return true;
  }

 public:
  // The order in which the key's transpose has to put its dimensions so that length and size are not exchanged.
  [[nodiscard]] Shape order_of_key(const Node& transpose) const {
    Shape order = transpose.attributes.integers("perm");
    const std::size_t rank = rewriter_.tensor(transpose.inputs[0]).shape.size();
    if (order.size() != rank || rank < 2) return {};
    for (std::int64_t& axis : order) axis += axis < 0 ? static_cast<std::int64_t>(rank) : 0;
    std::swap(order[rank - 1], order[rank - 2]);
    return order;
  }

 private:
  [[nodiscard]] Shape key_shape(const Found& found) const {
    Shape shape = rewriter_.tensor(found.key).shape;
    if (found.turned >= 0 && shape.size() >= 2) std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    return shape;
  }

  // All have the same leading dimensions, the heads; nothing is broadcast.
  [[nodiscard]] bool fits(const Node& softmax, const Found& found) const {
    const Shape& scores = rewriter_.tensor(softmax.outputs[0]).shape;
    const Shape& query = rewriter_.tensor(found.query).shape;
    const Shape key = key_shape(found);
    const Shape& value = rewriter_.tensor(found.value).shape;
    const std::size_t rank = scores.size();
    if (query.size() != rank || key.size() != rank || value.size() != rank) return false;
    for (std::size_t axis = 0; axis + 2 < rank; ++axis) {
      if (query[axis] != scores[axis] || key[axis] != scores[axis] || value[axis] != scores[axis]) return false;
    }
    if (query[rank - 2] != scores[rank - 2] || key[rank - 2] != scores[rank - 1]) return false;
    if (key[rank - 1] != query[rank - 1] || value[rank - 2] != scores[rank - 1]) return false;
    return std::all_of(found.members.begin(), found.members.end(),
                       [&](NodeId id) { return rewriter_.node(id).repeat == softmax.repeat; });
  }

  static constexpr int kMaxSteps = 8;  // between the softmax and each product

  const Rewriter& rewriter_;
};

}  // namespace

void recognize_attention(Rewriter& rewriter) {
  for (NodeId id = 0; id < rewriter.num_nodes(); ++id) {
    if (!rewriter.is_alive(id) || rewriter.node(id).op != OperatorId::softmax) continue;
    AttentionMatcher matcher(rewriter);
    auto found = matcher.match(rewriter.node(id));
    if (!found) continue;
    if (found->turned >= 0) {
      const Shape order = matcher.order_of_key(rewriter.node(found->turned));
      rewriter.attributes(found->turned).set("perm", order);
      Shape& shape = rewriter.mutable_tensor(found->key).shape;
      std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    }
    std::sort(found->members.begin(), found->members.end());
    Node made{.op = OperatorId::scaled_dot_product_attention, .inputs = {found->query, found->key, found->value}};
    if (found->mask != kAbsent) made.inputs.push_back(found->mask);
    rewriter.replace(found->members, std::move(made));
  }
}

}  // namespace latpred
