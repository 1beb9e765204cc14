#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "latpred/operators.h"
#include "normalize/rules.h"
#include "operators/products.h"

namespace latpred {
namespace {

constexpr int kMaxDepth = 64;  // operators between a product and the quantisation of what becomes of it

bool is_quantized(const Tensor& tensor) {
  const DTypeRow& row = dtype_row(tensor.dtype);
  return row.is_integer && tensor.dtype != DType::boolean && row.size_bits > 0 && row.size_bits <= 8;
}

// What libraries compute on integers as they do on floating point.
constexpr OperatorId kPassed[] = {
    OperatorId::relu,
    OperatorId::leaky_relu,
    OperatorId::clip,
    OperatorId::hard_sigmoid,
    OperatorId::hard_swish,
    OperatorId::sigmoid,
    OperatorId::tanh,
    OperatorId::silu,
    OperatorId::gelu,
    OperatorId::prelu,
    OperatorId::add,
    OperatorId::sub,
    OperatorId::mul,
    OperatorId::bias_add,
    OperatorId::batch_norm,
    OperatorId::max_pool,
    OperatorId::average_pool,
    OperatorId::global_average_pool,
    OperatorId::global_max_pool,
    OperatorId::adaptive_average_pool,
    OperatorId::adaptive_max_pool,
    OperatorId::concat,
    OperatorId::pad,
    OperatorId::reshape,
    OperatorId::flatten,
    OperatorId::squeeze,
    OperatorId::unsqueeze,
    OperatorId::expand,
    OperatorId::transpose,
    OperatorId::slice,
    OperatorId::depth_to_space,
    OperatorId::space_to_depth,
    OperatorId::resize,
    OperatorId::upsample,
    OperatorId::reduce_mean,
};

constexpr OperatorId kProducts[] = {
    OperatorId::conv,   OperatorId::conv_transpose, OperatorId::fused_conv,   OperatorId::gemm,
    OperatorId::matmul, OperatorId::linear,         OperatorId::fused_matmul, OperatorId::fused_gemm,
};

template <std::size_t N>
bool is_one_of(const OperatorId (&list)[N], OperatorId op) {
  return std::find(std::begin(list), std::end(list), op) != std::end(list);
}

// The integers that stand behind `id`: itself, or what a dequantisation makes it from; kAbsent where there are none.
TensorId integers_behind(const Rewriter& rewriter, TensorId id) {
  if (id == kAbsent) return kAbsent;
  if (is_quantized(rewriter.tensor(id))) return id;
  const Node* node = rewriter.maker(id, OperatorId::dequantize_linear);
  return node != nullptr && is_quantized(rewriter.tensor(node->inputs[0])) ? node->inputs[0] : kAbsent;
}

bool is_floating(const Tensor& tensor) { return dtype_row(tensor.dtype).is_floating; }

// A product of two dequantised operands multiplies the integers.
void take_integers(Rewriter& rewriter, NodeId id) {
  const Node& node = rewriter.node(id);
  const Operands operands = operands_of(node.op);
  if (std::max(operands.a, operands.b) >= node.inputs.size()) return;
  const TensorId a = integers_behind(rewriter, node.inputs[operands.a]);
  const TensorId b = integers_behind(rewriter, node.inputs[operands.b]);
  if (a == kAbsent || b == kAbsent) return;
  std::vector<TensorId> inputs = node.inputs;
  inputs[operands.a] = a;
  inputs[operands.b] = b;
  if (operands.bias && *operands.bias < inputs.size()) {
    const Node* bias = rewriter.maker(inputs[*operands.bias], OperatorId::dequantize_linear);
    if (bias != nullptr) inputs[*operands.bias] = bias->inputs[0];
  }
  if (inputs != node.inputs) rewriter.set_inputs(id, std::move(inputs));
}

// What has to change so that a tensor is made as integers.
class Demand {
 public:
  explicit Demand(const Rewriter& rewriter) : rewriter_(rewriter) {}

  bool add(TensorId id, int depth = 0) {
    if (depth > kMaxDepth) return false;
    if (std::find(made_.begin(), made_.end(), id) != made_.end()) return true;
    if (rewriter_.is_stored(id) || is_quantized(rewriter_.tensor(id))) return true;
    if (integers_behind(rewriter_, id) != kAbsent) return true;
    const Node* node = rewriter_.maker(id);
    if (node == nullptr || !rewriter_.is_inside(id) || node->outputs[0] != id) return false;
    if (is_one_of(kProducts, node->op)) {
      const Operands operands = operands_of(node->op);
      if (std::max(operands.a, operands.b) >= node->inputs.size()) return false;
      if (!is_quantized(rewriter_.tensor(node->inputs[operands.a]))) return false;
      if (!is_quantized(rewriter_.tensor(node->inputs[operands.b]))) return false;
      made_.push_back(id);
      return true;
    }
    if (!is_one_of(kPassed, node->op)) return false;
    made_.push_back(id);
    passed_.push_back(rewriter_.id_of(*node));
    return std::all_of(node->inputs.begin(), node->inputs.end(), [&](TensorId input) {
      return input == kAbsent || !is_floating(rewriter_.tensor(input)) || add(input, depth + 1);
    });
  }

  void meet(Rewriter& rewriter, DType dtype) const {
    for (const NodeId id : passed_) {
      std::vector<TensorId> inputs = rewriter.node(id).inputs;
      for (TensorId& input : inputs) {
        const bool is_dequantized = input != kAbsent && rewriter.maker(input, OperatorId::dequantize_linear) != nullptr;
        if (is_dequantized) input = integers_behind(rewriter, input);
      }
      rewriter.set_inputs(id, std::move(inputs));
    }
    for (const TensorId id : made_) {
      rewriter.mutable_tensor(id).dtype = dtype;
      rewriter.touch_around(id);
    }
  }

 private:
  const Rewriter& rewriter_;
  std::vector<TensorId> made_;
  std::vector<NodeId> passed_;
};

// Readers that quantise the same tensor to the same type, each for itself, become one.
void join_readers(Rewriter& rewriter, NodeId first) {
  const Node& node = rewriter.node(first);
  const std::vector<NodeId> readers = rewriter.readers(node.inputs[0]);
  const DType dtype = rewriter.tensor(node.outputs[0]).dtype;
  for (const NodeId id : readers) {
    const Node& other = rewriter.node(id);
    if (id <= first || other.op != OperatorId::quantize_linear || other.inputs[0] != node.inputs[0]) continue;
    if (rewriter.tensor(other.outputs[0]).dtype != dtype) continue;
    if (rewriter.forward(other.outputs[0], node.outputs[0])) rewriter.drop(id);
  }
}

// Where all that leads to a quantisation is integer already, the integers are made at once.
void take_in(Rewriter& rewriter, NodeId id) {
  join_readers(rewriter, id);
  const TensorId from = rewriter.node(id).inputs[0];
  const TensorId to = rewriter.node(id).outputs[0];
  if (rewriter.is_stored(from)) return;
  if (const TensorId integers = integers_behind(rewriter, from); integers != kAbsent) {
    // Integers to floating point and back; another type is a conversion that somebody has to do.
    const bool same = rewriter.tensor(integers).dtype == rewriter.tensor(to).dtype;
    if (same && rewriter.forward(to, integers)) rewriter.drop(id);
    return;
  }
  Demand demand(rewriter);
  if (!demand.add(from)) return;
  const DType dtype = rewriter.tensor(to).dtype;
  if (!rewriter.forward(to, from)) return;
  rewriter.drop(id);
  demand.meet(rewriter, dtype);
}

}  // namespace

void fold_quantization(Rewriter& rewriter) {
  for (NodeId id = 0; id < rewriter.num_nodes(); ++id) {
    if (!rewriter.is_alive(id)) continue;
    const OperatorId op = rewriter.node(id).op;
    if (is_one_of(kProducts, op)) take_integers(rewriter, id);
    if (op == OperatorId::quantize_linear) take_in(rewriter, id);
  }
}

}  // namespace latpred
