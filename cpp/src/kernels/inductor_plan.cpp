#include "inductor_plan.h"

#include <utility>

#include "inductor_layout.h"
#include "kind_sets.h"
#include "strided_inputs.h"
#include "strides.h"

namespace latpred {
namespace {

// What it concatenates is computed inside the reader up to so many parts (max_pointwise_cat_inputs).
constexpr std::size_t kMostPartsInlined = 8;
constexpr Kinds kMoving = of(CostKind::copy, CostKind::concat, CostKind::index, CostKind::pool, CostKind::resize);

// `image_strides`: of every tensor, as images are laid out.
bool reads_twice(const Graph& graph, const Node& node, CostKind kind, const std::vector<Shape>& image_strides) {
  if (!has(kNormalising, kind) || node.inputs.empty() || node.inputs[0] == kAbsent) return false;
  const TensorId input = node.inputs[0];
  return kind == CostKind::group_norm || !is_row_major(graph.tensors[input].shape, image_strides[input]);
}

}  // namespace

InductorPlan plan_inductor(const Graph& graph, const std::vector<CostKind>& kinds, const ViewInfo& views,
                           InlinedNodes inlined, const Repeated& repeated) {
  const bool of_pytorch = is_of_pytorch(graph);
  InductorPlan plan{.moves_channels_last = runs_channels_last(graph),
                    .nodes = std::vector<InductorNode>(graph.nodes.size()),
                    .written = std::move(inlined.written)};
  const std::vector<Shape> image_strides = find_views(graph, plan.moves_channels_last, Ordering::inductor).strides;
  for (NodeId position = 0; position < static_cast<NodeId>(graph.nodes.size()); ++position) {
    if (views.is_view[position]) continue;
    const Node& node = graph.nodes[position];
    const CostKind kind = kinds[position];
    InductorNode& planned = plan.nodes[position];
    if (of_pytorch && has(kLibraries, kind)) {
      const bool is_image = has(kConvolutions, kind);
      planned.misplaced_inputs =
          copied_inputs(graph, node, kind, is_image ? image_strides : views.strides,
                        {.channels_last = is_image && plan.moves_channels_last, .narrowed = true});
    }
    planned.adds_bias =
        !repeated.repeats_bias(position) &&
        (traces_bias_apart(graph, node, kind) || (of_pytorch && adds_bias_apart(graph, node, views.strides)));
    planned.generates_bias = planned.adds_bias || repeated.repeats_bias(position);
    planned.reads_twice = reads_twice(graph, node, kind, image_strides);
    planned.is_long_concatenation = kind == CostKind::concat && node.inputs.size() > kMostPartsInlined;
    planned.moves = has(kMoving, kind) || inlined.carried[position];
  }
  return plan;
}

}  // namespace latpred
