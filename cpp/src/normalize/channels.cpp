#include <utility>

#include "latpred/dtype.h"
#include "normalize/rules.h"
#include "operators/layout.h"

namespace latpred {
namespace {

using Id = OperatorId;

// Stored, with one number for each channel of an image of this shape.
bool is_per_channel(const Rewriter& rewriter, TensorId id, const Attributes& attributes, const Shape& shape) {
  if (!rewriter.is_stored(id)) return false;
  const std::size_t axis = channel_axis(attributes, shape.size());
  const Shape& stored = rewriter.tensor(id).shape;
  if (rewriter.tensor(id).num_elements() != shape[axis] || stored.size() > shape.size()) return false;
  const std::size_t lead = shape.size() - stored.size();
  return axis >= lead && stored[axis - lead] == shape[axis];
}

// Only the sizes of stored content are known or needed; what is known of it holds in its first order alone.
void reorder(Rewriter& rewriter, TensorId id, Shape shape) {
  rewriter.mutable_tensor(id).shape = std::move(shape);
  rewriter.mutable_tensor(id).value = nullptr;
}

// A list of one number for each channel, to be read as an operator's own bias: it must be nobody else's.
bool make_list(Rewriter& rewriter, TensorId id) {
  const Shape list{rewriter.tensor(id).num_elements()};
  if (rewriter.tensor(id).shape == list) return true;
  if (rewriter.readers(id).size() != 1) return false;
  reorder(rewriter, id, list);
  return true;
}

bool is_addition(const Node& node) {
  return (node.op == Id::add || node.op == Id::bias_add) && node.inputs.size() == 2;
}

// What is added to the result of `node`, by an operator that alone reads it; the addition with it.
struct Addition {
  const Node* node = nullptr;
  TensorId bias = kAbsent;
};

Addition addition_behind(const Rewriter& rewriter, const Node& node) {
  const TensorId result = node.outputs[0];
  const Node* sum = rewriter.only_reader(result);
  if (sum == nullptr || !is_addition(*sum) || sum->repeat != node.repeat) return {};
  const TensorId bias = Rewriter::other_input(*sum, result);
  if (bias == kAbsent || !rewriter.is_stored(bias)) return {};
  const Tensor& before = rewriter.tensor(result);
  const Tensor& after = rewriter.tensor(sum->outputs[0]);
  if (after.shape != before.shape || rewriter.tensor(bias).dtype != before.dtype) return {};
  return {sum, bias};
}

void bias_of_convolution(Rewriter& rewriter, const Node& conv) {
  if (conv.inputs.size() > 2 && conv.inputs[2] != kAbsent) return;
  const Addition addition = addition_behind(rewriter, conv);
  if (addition.node == nullptr) return;
  const Shape& shape = rewriter.tensor(conv.outputs[0]).shape;
  if (!is_per_channel(rewriter, addition.bias, conv.attributes, shape) || !make_list(rewriter, addition.bias)) return;
  Node made = conv;
  made.inputs.resize(2);
  made.inputs.push_back(addition.bias);
  rewriter.replace({rewriter.id_of(conv), rewriter.id_of(*addition.node)}, std::move(made));
}

// x [..., K] x stored [K, N] + stored [N] is what others call a linear layer, whose weight is [N, K].
void bias_of_product(Rewriter& rewriter, const Node& product) {
  const TensorId weight = product.inputs[1];
  const Shape sizes = rewriter.tensor(weight).shape;
  if (!rewriter.is_stored(weight) || sizes.size() != 2 || rewriter.readers(weight).size() != 1) return;
  if (rewriter.is_stored(product.inputs[0])) return;
  const Addition addition = addition_behind(rewriter, product);
  if (addition.node == nullptr) return;
  const Tensor& bias = rewriter.tensor(addition.bias);
  if (bias.num_elements() != sizes[1] || bias.shape.empty() || bias.shape.back() != sizes[1]) return;
  if (!make_list(rewriter, addition.bias)) return;
  reorder(rewriter, weight, {sizes[1], sizes[0]});
  Node made{.op = Id::linear, .inputs = {product.inputs[0], weight, addition.bias}};
  rewriter.replace({rewriter.id_of(product), rewriter.id_of(*addition.node)}, std::move(made));
}

}  // namespace

void join_biases(Rewriter& rewriter) {
  for (NodeId id = 0; id < rewriter.num_nodes(); ++id) {
    if (!rewriter.is_alive(id)) continue;
    const Node& node = rewriter.node(id);
    if (node.op == Id::conv || node.op == Id::conv_transpose) bias_of_convolution(rewriter, node);
    if (node.op == Id::matmul) bias_of_product(rewriter, node);
  }
}

// A convolution whose result is multiplied by, and then added to, one stored number for each channel.
void recognize_batch_norm(Rewriter& rewriter) {
  for (NodeId id = 0; id < rewriter.num_nodes(); ++id) {
    if (!rewriter.is_alive(id)) continue;
    const Node& conv = rewriter.node(id);
    if (conv.op != OperatorId::conv && conv.op != OperatorId::conv_transpose) continue;
    const TensorId image = conv.outputs[0];
    const Node* scaled = rewriter.only_reader(image);
    if (scaled == nullptr || scaled->op != OperatorId::mul) continue;
    const Node* shifted = rewriter.only_reader(scaled->outputs[0]);
    if (shifted == nullptr || shifted->op != OperatorId::add) continue;
    const TensorId scale = Rewriter::other_input(*scaled, image);
    const TensorId bias = Rewriter::other_input(*shifted, scaled->outputs[0]);
    const Shape& shape = rewriter.tensor(image).shape;
    if (rewriter.tensor(shifted->outputs[0]).shape != shape) continue;
    if (scale == kAbsent || bias == kAbsent || scaled->repeat != shifted->repeat) continue;
    if (!is_per_channel(rewriter, scale, conv.attributes, shape)) continue;
    if (!is_per_channel(rewriter, bias, conv.attributes, shape)) continue;
    Node made{.op = OperatorId::batch_norm, .inputs = {image, scale, bias}};
    if (has_channels_last(conv.attributes)) made.attributes.set("channels_last", std::int64_t{1});
    rewriter.replace({rewriter.id_of(*scaled), rewriter.id_of(*shifted)}, std::move(made));
  }
}

}  // namespace latpred
