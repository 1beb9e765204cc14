#include <algorithm>
#include <array>

#include "latpred/operators.h"
#include "operators/layout.h"
#include "operators/products.h"

namespace latpred {
namespace {

constexpr std::array<std::string_view, kNumCostKinds> kNames{
    "view",         "conv",      "conv_1x1",   "conv_grouped", "conv_depthwise", "matmul",
    "batch_matmul", "attention", "batch_norm", "layer_norm",   "group_norm",     "softmax",
    "unary",        "binary",    "pool",       "reduce",       "copy",           "cast",
    "concat",       "index",     "resize",     "recurrent",    "other"};

// A window that covers its whole image, once: a fully connected layer, however its file calls it.
bool is_fully_connected(const Graph& graph, const Node& node, const Convolution& conv) {
  constexpr OperatorId kPlain[] = {OperatorId::conv, OperatorId::conv_integer, OperatorId::qlinear_conv,
                                   OperatorId::fused_conv};
  if (conv.groups != 1 || std::find(std::begin(kPlain), std::end(kPlain), node.op) == std::end(kPlain)) return false;
  const Shape image = channels_first(node.attributes, input_tensor(graph, node, operands_of(node.op).a)->shape);
  const std::vector<std::int64_t> pads = node.attributes.integers("pads");
  return std::equal(image.begin() + 2, image.end(), conv.window.begin(), conv.window.end()) &&
         conv.positions == image[0] && std::all_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad == 0; });
}

CostKind convolution_kind(const Graph& graph, const Node& node) {
  const auto conv = convolution_of(graph, node);
  if (!conv) return CostKind::conv;
  if (is_fully_connected(graph, node, *conv)) return CostKind::matmul;
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
