#include "fusion_rules.h"

#include "kind_sets.h"

namespace latpred {
namespace {

struct FusionRule {
  std::string_view runtime;
  Kinds group;
  Kinds next;
  bool becomes_next;  // the group takes the kind of what joins it (a point-wise chain ending in a norm is a norm)
  std::optional<CostKind> becomes;
  // false: what joins must not make more elements than the group, whose epilogue works on those in its registers.
  bool repeats = true;
};

// What each runtime is documented or was seen to fuse. A learnt partitioner can take their place; these stay the
// baseline.
constexpr FusionRule kFusionRules[]{
    // Inductor leaves convolutions and products to the libraries and fuses everything point-wise around reductions;
    // what is concatenated is written to its place by its makers.
    {"compiled", of(CostKind::concat), kPointwise | of(CostKind::batch_norm), true, std::nullopt},
    {"compiled", kInlined, kPointwise | of(CostKind::batch_norm, CostKind::copy, CostKind::concat), false,
     std::nullopt},
    {"compiled", kInlined, kNorms | of(CostKind::index), true, std::nullopt},
    {"compiled", kNorms, kNorms | kPointwise | of(CostKind::concat), false, std::nullopt},
    // TensorRT: epilogues of convolutions and products, point-wise chains, whole attention blocks (Myelin).
    {"tensorrt", kConvolutions, kPointwise | of(CostKind::batch_norm), false, std::nullopt, false},
    {"tensorrt", kProducts | of(CostKind::attention), kPointwise, false, std::nullopt, false},
    {"tensorrt", of(CostKind::batch_matmul), of(CostKind::softmax), false, CostKind::attention},
    {"tensorrt", of(CostKind::attention), of(CostKind::batch_matmul), false, CostKind::attention},
    {"tensorrt", kPointwise | of(CostKind::batch_norm), kPointwise | of(CostKind::batch_norm), false, std::nullopt},
    {"tensorrt", kPointwise, of(CostKind::layer_norm, CostKind::softmax), true, std::nullopt},
    {"tensorrt", of(CostKind::layer_norm, CostKind::softmax), kPointwise, false, std::nullopt},
    // ONNX Runtime: batch norm and one activation into a convolution, bias into a product, skip connection into a norm.
    {"onnxruntime", kConvolutions, of(CostKind::batch_norm, CostKind::unary), false, std::nullopt},
    {"onnxruntime", kProducts, of(CostKind::binary), false, std::nullopt, false},
    {"onnxruntime", of(CostKind::binary), of(CostKind::layer_norm), true, std::nullopt},
    {"onnxruntime", of(CostKind::unary), kPointwise, false, std::nullopt},
    // OpenVINO on a CPU: post-operations of convolutions and products, Snippets for point-wise chains. The first two
    // should not repeat either, but the shipped models of a core were fitted on them as they are.
    {"openvino", kConvolutions, kPointwise | of(CostKind::batch_norm), false, std::nullopt},
    {"openvino", kProducts, kPointwise, false, std::nullopt},
    {"openvino", kPointwise | of(CostKind::batch_norm), kPointwise | of(CostKind::batch_norm), false, std::nullopt},
};

}  // namespace

std::optional<CostKind> fused_kind(std::string_view runtime, CostKind group, CostKind next, bool is_repeated) {
  for (const FusionRule& rule : kFusionRules) {
    if (rule.runtime != runtime || !has(rule.group, group) || !has(rule.next, next)) continue;
    if (is_repeated && !rule.repeats) continue;
    if (rule.becomes) return rule.becomes;
    return rule.becomes_next ? next : group;
  }
  return std::nullopt;
}

}  // namespace latpred
