#include <array>

#include "latpred/operators.h"
#include "operators/products.h"

namespace latpred {
namespace {

constexpr std::array<std::string_view, kNumCostKinds> kNames{
    "view",         "conv",      "conv_1x1",   "conv_grouped", "conv_depthwise", "matmul",
    "batch_matmul", "attention", "batch_norm", "layer_norm",   "group_norm",     "softmax",
    "unary",        "binary",    "pool",       "reduce",       "copy",           "cast",
    "concat",       "index",     "resize",     "recurrent",    "other"};

CostKind convolution_kind(const Graph& graph, const Node& node) {
  const auto conv = convolution_of(graph, node);
  if (!conv) return CostKind::conv;
  if (conv->groups > 1) {
    const bool is_depthwise = conv->groups == conv->in_channels && conv->out_channels % conv->in_channels == 0;
    return is_depthwise ? CostKind::conv_depthwise : CostKind::conv_grouped;
  }
  return conv->window_elements() == 1 ? CostKind::conv_1x1 : CostKind::conv;
}

}  // namespace

std::string_view cost_kind_name(CostKind kind) { return kNames.at(static_cast<std::size_t>(kind)); }

CostKind cost_kind(const Graph& graph, const Node& node) {
  const CostKind kind = operator_row(node.op).kind;
  switch (kind) {
    case CostKind::conv:
      return convolution_kind(graph, node);
    case CostKind::matmul:
    case CostKind::batch_matmul: {
      const Gemm gemm = gemm_of(graph, node);
      // An einsum of one operand sums or permutes, without a product.
      if (node.op == OperatorId::einsum && gemm.batch == 0) return CostKind::reduce;
      return gemm.batch > 1 ? CostKind::batch_matmul : CostKind::matmul;
    }
    default:
      return kind;
  }
}

}  // namespace latpred
