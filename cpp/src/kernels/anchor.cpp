#include "anchor.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "kind_sets.h"
#include "operators/attention_sizes.h"
#include "operators/layout.h"
#include "operators/products.h"
#include "pytorch_kernels.h"

namespace latpred {
namespace {

constexpr Kinds kImageKinds = kConvolutions | of(CostKind::pool, CostKind::resize);

double product(const Shape& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), 1.0,
                         [](double sum, std::int64_t size) { return sum * static_cast<double>(size); });
}

void describe_image(const Graph& graph, const Node& node, const AnchorContext& context, Kernel& row) {
  const Tensor* output = output_tensor(graph, node, 0);
  if (!has(kImageKinds | of(CostKind::batch_norm), row.kind) || output == nullptr) return;
  const Shape image = channels_first(node.attributes, output->shape);
  if (image.size() > 2) row.positions = product(Shape(image.begin() + 2, image.end()));
  if (row.kind == CostKind::batch_norm) return;
  row.interpolates =
      row.kind == CostKind::resize && context.is_pytorch && node.attributes.text("mode", "nearest") != "nearest";
  row.channels_last =
      context.moves_channels_last ||
      (!context.channels_last.empty() && std::any_of(node.inputs.begin(), node.inputs.end(), [&](TensorId id) {
        return id != kAbsent && context.channels_last[id];
      }));
}

bool is_3x3(const Node& node, const Convolution& convolution) {
  const Shape dilations = node.attributes.integers("dilations");
  const bool is_dense = std::ranges::all_of(dilations, [](std::int64_t dilation) { return dilation == 1; });
  return convolution.window == Shape{3, 3} && is_dense && !convolution.is_transposed;
}

// Norms for which PyTorch has kernels of its own, or calls cuDNN's. With the channels innermost batch norms run others,
// which are as quick as their bytes.
constexpr Kinds kOwnNorms = of(CostKind::batch_norm, CostKind::layer_norm, CostKind::group_norm);

double normalised_elements(const Graph& graph, const Node& node, const AnchorContext& context, CostKind kind) {
  const Tensor* input = input_tensor(graph, node, 0);
  if (!has(kOwnNorms, kind) || input == nullptr) return 0;
  const bool is_channels_last = !context.channels_last.empty() && context.channels_last[node.inputs[0]];
  return kind == CostKind::batch_norm && is_channels_last ? 0 : static_cast<double>(input->num_elements());
}

// Adaptive and global pooling, which have no window, are other kernels, as is all with the channels innermost.
double pooled_elements(const Graph& graph, const Node& node, const Kernel& row) {
  const Tensor* output = output_tensor(graph, node, 0);
  if (row.kind != CostKind::pool || row.channels_last || row.window <= 1 || output == nullptr) return 0;
  return static_cast<double>(output->num_elements());
}

// [batch, channels, ...]; instance norms have a group for each channel.
double elements_of_group(const Node& node, const Shape& shape) {
  const bool is_instance = node.op == OperatorId::instance_norm;
  if (shape.size() < 2 || !(is_instance || node.op == OperatorId::group_norm)) return 0;
  const std::int64_t groups = is_instance ? shape[1] : node.attributes.integer("num_groups", 1);
  return product(shape) / static_cast<double>(std::max<std::int64_t>(1, shape[0] * groups));
}

// How many elements of the input make one of the result: the length of a row that one block of threads walks.
double combined_elements(const Graph& graph, const Node& node) {
  const Tensor* input = input_tensor(graph, node, 0);
  const Tensor* output = output_tensor(graph, node, 0);
  if (input == nullptr || output == nullptr || input->shape.empty()) return 0;
  const CostKind kind = operator_row(node.op).kind;
  if (kind == CostKind::reduce) {
    return static_cast<double>(input->num_elements()) / std::max(1.0, static_cast<double>(output->num_elements()));
  }
  if (kind == CostKind::group_norm) return elements_of_group(node, channels_first(node.attributes, input->shape));
  const Tensor* scale = input_tensor(graph, node, 1);
  if (kind == CostKind::layer_norm && scale != nullptr) return static_cast<double>(scale->num_elements());
  const auto rank = static_cast<std::int64_t>(input->shape.size());
  const std::int64_t axis = node.attributes.integer("axis", -1);
  return static_cast<double>(input->shape[static_cast<std::size_t>(axis < 0 ? axis + rank : axis) % rank]);
}

}  // namespace

void describe_anchor(const Graph& graph, const Node& node, const AnchorContext& context, Kernel& row) {
  const Gemm gemm = gemm_of(graph, node);
  row.gemm_batch = gemm.batch;
  row.m = gemm.m;
  row.n = gemm.n;
  row.k = gemm.k;
  row.is_unaligned = context.is_pytorch && is_unaligned(row);
  describe_image(graph, node, context, row);
  if (has(kNorms, row.kind)) row.row = combined_elements(graph, node);
  if (context.is_pytorch) row.normalised = normalised_elements(graph, node, context, row.kind);
  if (row.kind == CostKind::attention) {
    row.masked = attention_sizes(node.op, node.source_operator, node.attributes, input_shapes(graph, node)).has_mask;
  }
  if (row.kind == CostKind::matmul) return;  // of a fully connected layer that is written as a convolution
  row.groups = static_cast<double>(node.attributes.integer("group", 1));
  row.window = product(node.attributes.integers("kernel_shape"));
  row.stride = product(node.attributes.integers("strides"));
  if (const auto convolution = convolution_of(graph, node)) {
    row.window = static_cast<double>(convolution->window_elements());
    row.is_3x3 = is_3x3(node, *convolution);
  }
  if (context.is_pytorch) row.pooled = pooled_elements(graph, node, row);
  row.is_native_depthwise = context.calls_pytorch && is_native_depthwise(row);
}

double executed_share(const Kernel& row, const Node& node) {
  const bool is_causal = row.kind == CostKind::attention && node.attributes.integer("is_causal", 0) != 0;
  return is_causal ? (1 + 1 / std::max(1.0, row.m)) / 2 : 1.0;
}

}  // namespace latpred
