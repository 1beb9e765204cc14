#include "inductor_plan.h"

#include "inductor_layout.h"
#include "kind_sets.h"
#include "latpred/program.h"
#include "strided_inputs.h"
#include "strides.h"

namespace latpred {
namespace {

// What it concatenates is computed inside the reader up to so many parts (max_pointwise_cat_inputs).
constexpr std::size_t kMostPartsInlined = 8;
constexpr Kinds kMoving = of(CostKind::copy, CostKind::concat, CostKind::index, CostKind::pool, CostKind::resize);

}  // namespace

InductorPlan::InductorPlan(const Graph& graph, const std::vector<CostKind>& kinds, ViewInfo& views, Storage& storage)
    : graph_(graph),
      kinds_(kinds),
      views_(views),
      is_of_pytorch_(is_of_pytorch(graph)),
      moves_channels_last_(runs_channels_last(graph)),
      image_strides_(find_views(graph, moves_channels_last_, Ordering::inductor).strides),
      inlined_(inline_nodes(graph, kinds, views, storage)),
      repeated_(graph, views, kinds) {}

std::vector<TensorId> InductorPlan::misplaced_inputs(NodeId position) const {
  const CostKind kind = kinds_[position];
  if (!is_of_pytorch_ || !has(kLibraries, kind)) return {};
  const bool is_image = has(kConvolutions, kind);
  return copied_inputs(graph_, node(position), kind, is_image ? image_strides_ : views_.strides,
                       {.channels_last = is_image && moves_channels_last_, .narrowed = true});
}

bool InductorPlan::adds_bias(NodeId position) const {
  if (repeated_.repeats_bias(position)) return false;
  return traces_bias_apart(graph_, node(position), kinds_[position]) ||
         (is_of_pytorch_ && adds_bias_apart(graph_, node(position), views_.strides));
}

bool InductorPlan::reads_twice(NodeId position) const {
  const CostKind kind = kinds_[position];
  if (!has(kNormalising, kind) || node(position).inputs.empty() || node(position).inputs[0] == kAbsent) return false;
  const TensorId input = node(position).inputs[0];
  return kind == CostKind::group_norm || !is_row_major(graph_.tensors[input].shape, image_strides_[input]);
}

bool InductorPlan::is_long_concatenation(NodeId position) const {
  return kinds_[position] == CostKind::concat && node(position).inputs.size() > kMostPartsInlined;
}

bool InductorPlan::is_apart(NodeId position, TensorId input) const {
  return inlined_.written[views_.base[input]] && (has(kMoving, kinds_[position]) || inlined_.carried[position]);
}

}  // namespace latpred
