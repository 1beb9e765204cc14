#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "latpred/operators.h"
#include "normalize/rules.h"
#include "operators/layout.h"

namespace latpred {
namespace {

Shape order_of(const Rewriter& rewriter, const Node& transpose) {
  const auto rank = static_cast<std::int64_t>(rewriter.tensor(transpose.inputs[0]).shape.size());
  Shape order(static_cast<std::size_t>(rank));
  std::iota(order.rbegin(), order.rend(), std::int64_t{0});
  order = transpose.attributes.integers("perm", order);
  for (std::int64_t& axis : order) axis += axis < 0 ? rank : 0;
  return order;
}

bool is_transpose(const Rewriter& rewriter, NodeId id) {
  return rewriter.is_alive(id) && rewriter.node(id).op == OperatorId::transpose;
}

// [0, last, 1, 2, ..]: the image comes with its channels last and goes on with them first.
bool puts_channels_first(const Shape& order) {
  if (order.size() < 3 || order[0] != 0 || order[1] != static_cast<std::int64_t>(order.size()) - 1) return false;
  for (std::size_t i = 2; i < order.size(); ++i) {
    if (order[i] != static_cast<std::int64_t>(i) - 1) return false;
  }
  return true;
}

bool puts_channels_last(const Shape& order) {
  if (order.size() < 3 || order[0] != 0 || order.back() != 1) return false;
  for (std::size_t i = 1; i + 1 < order.size(); ++i) {
    if (order[i] != static_cast<std::int64_t>(i) + 1) return false;
  }
  return true;
}

// Operators of an image that take `channels_last`.
constexpr OperatorId kImageOperators[] = {
    OperatorId::conv,
    OperatorId::conv_transpose,
    OperatorId::fused_conv,
    OperatorId::max_pool,
    OperatorId::average_pool,
    OperatorId::lp_pool,
    OperatorId::global_average_pool,
    OperatorId::global_max_pool,
    OperatorId::global_lp_pool,
    OperatorId::adaptive_average_pool,
    OperatorId::adaptive_max_pool,
    OperatorId::batch_norm,
    OperatorId::instance_norm,
    OperatorId::group_norm,
    OperatorId::lrn,
    OperatorId::depth_to_space,
    OperatorId::space_to_depth,
};

// Work on all regions together: each starts at a transpose, and few of a real network fail late.
constexpr std::int64_t kVisitsPerNode = 8;

// Which region each tensor and node was last seen in.
struct Marks {
  std::vector<NodeId> tensors;
  std::vector<NodeId> nodes;
};

// The part of a graph between transposes that put the channels first and transposes that put them back.
class Region {
 public:
  Region(const Rewriter& rewriter, NodeId start, Marks& marks) : rewriter_(rewriter), start_(start), marks_(marks) {}

  // Takes in what follows from the start; false where it does not end in transposes back. Counts `visits` down.
  bool grow(std::int64_t& visits) {
    enter(start_);
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const TensorId id = tensors_[i];
      if (rewriter_.is_output(id)) return false;
      for (const NodeId reader : rewriter_.readers(id)) {
        if (--visits < 0 || !take(reader, id)) return false;
      }
    }
    return std::all_of(wanted_.begin(), wanted_.end(), [&](TensorId id) { return contains(id); }) && !exits_.empty();
  }

  void turn(Rewriter& rewriter) const {
    for (const TensorId id : tensors_) {
      if (rewriter.maker(id, OperatorId::transpose) != nullptr) continue;  // an entry: it goes
      Shape& shape = rewriter.mutable_tensor(id).shape;
      if (shape.size() > 2) std::rotate(shape.begin() + 1, shape.begin() + 2, shape.end());
    }
    for (const NodeId id : members_) {
      const bool is_image = std::find(std::begin(kImageOperators), std::end(kImageOperators), rewriter.node(id).op) !=
                            std::end(kImageOperators);
      if (is_image) rewriter.attributes(id).set("channels_last", std::int64_t{1});
    }
    for (const NodeId id : exits_) {
      const Node& node = rewriter.node(id);
      if (rewriter.forward(node.outputs[0], node.inputs[0])) rewriter.drop(id);
    }
    for (const NodeId id : entries_) {
      const Node& node = rewriter.node(id);
      if (rewriter.forward(node.outputs[0], node.inputs[0])) rewriter.drop(id);
    }
  }

 private:
  [[nodiscard]] bool contains(TensorId id) const { return marks_.tensors[id] == start_; }
  void add(TensorId id) {
    if (contains(id)) return;
    marks_.tensors[id] = start_;
    tensors_.push_back(id);
  }
  void enter(NodeId transpose) {
    entries_.push_back(transpose);
    add(rewriter_.node(transpose).outputs[0]);
  }

  bool take(NodeId id, TensorId from) {
    if (marks_.nodes[id] == start_) return true;
    marks_.nodes[id] = start_;
    const Node& node = rewriter_.node(id);
    if (node.op == OperatorId::transpose) {
      if (!puts_channels_last(order_of(rewriter_, node))) return false;
      // An output of the graph must be able to take over the tensor.
      if (rewriter_.is_output(node.outputs[0]) && rewriter_.readers(from).size() != 1) return false;
      exits_.push_back(id);
      return true;
    }
    const auto later =
        std::any_of(node.outputs.begin() + 1, node.outputs.end(), [](TensorId out) { return out != kAbsent; });
    if (later || node.outputs[0] == kAbsent || has_channels_last(node.attributes)) return false;
    const bool is_image =
        std::find(std::begin(kImageOperators), std::end(kImageOperators), node.op) != std::end(kImageOperators);
    if (is_image) {
      if (std::count(node.inputs.begin(), node.inputs.end(), from) != 1 || node.inputs[0] != from) return false;
    } else if (!takes_pointwise(node)) {
      return false;
    }
    members_.push_back(id);
    add(node.outputs[0]);
    return true;
  }

  // Element by element on tensors of one shape, single numbers aside.
  bool takes_pointwise(const Node& node) {
    const CostKind kind = operator_row(node.op).kind;
    if (kind != CostKind::unary && kind != CostKind::binary && kind != CostKind::cast) return false;
    if (operator_row(node.op).family != "elementwise") return false;
    const Shape& shape = rewriter_.tensor(node.outputs[0]).shape;
    for (const TensorId id : node.inputs) {
      if (id == kAbsent || rewriter_.is_scalar(id)) continue;
      if (rewriter_.tensor(id).shape != shape) return false;
      if (contains(id)) continue;
      const Node* maker = rewriter_.maker(id);
      if (maker == nullptr) return false;
      if (maker->op == OperatorId::transpose) {
        if (!puts_channels_first(order_of(rewriter_, *maker))) return false;
        enter(rewriter_.id_of(*maker));
      } else {
        wanted_.push_back(id);
      }
    }
    return true;
  }

  const Rewriter& rewriter_;
  NodeId start_;
  Marks& marks_;
  std::vector<NodeId> entries_;
  std::vector<NodeId> exits_;
  std::vector<NodeId> members_;
  std::vector<TensorId> tensors_;
  std::vector<TensorId> wanted_;  // must turn out to lie inside
};

}  // namespace

// A transpose of a transpose is one, or none.
void join_transposes(Rewriter& rewriter) {
  for (NodeId id = 0; id < rewriter.num_nodes(); ++id) {
    if (!is_transpose(rewriter, id)) continue;
    const Node& second = rewriter.node(id);
    const Node* first = rewriter.maker(second.inputs[0], OperatorId::transpose);
    if (first == nullptr || first->repeat != second.repeat) continue;
    const Shape before = order_of(rewriter, *first);
    Shape order = order_of(rewriter, second);
    for (std::int64_t& axis : order) axis = before.at(static_cast<std::size_t>(axis));
    const TensorId source = first->inputs[0];
    if (std::is_sorted(order.begin(), order.end())) {
      if (rewriter.forward(second.outputs[0], source)) rewriter.drop(id);
    } else if (rewriter.is_inside(second.inputs[0])) {
      rewriter.set_inputs(id, {source});
      rewriter.attributes(id).set("perm", order);
    }
  }
}

// Images that are turned for an operator and turned back behind it: the operator takes them as they are.
void turn_images(Rewriter& rewriter) {
  std::int64_t visits = kVisitsPerNode * rewriter.num_nodes();
  Marks marks{std::vector<NodeId>(rewriter.graph().tensors.size(), -1),
              std::vector<NodeId>(static_cast<std::size_t>(rewriter.num_nodes()), -1)};
  for (NodeId id = 0; id < rewriter.num_nodes() && visits > 0; ++id) {
    if (!is_transpose(rewriter, id) || !puts_channels_first(order_of(rewriter, rewriter.node(id)))) continue;
    Region region(rewriter, id, marks);
    if (region.grow(visits)) region.turn(rewriter);
  }
}

}  // namespace latpred
