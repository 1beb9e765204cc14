#include "inductor_layout.h"

#include <cstdint>
#include <optional>

#include "operators/products.h"

namespace latpred {
namespace {

// Inductor's decide_layout_opt (torch/_inductor/graph.py, the same from 2.1 to 2.9): what its authors measured
// channels-last convolutions to take over channels-first ones, weighted by FLOPs. Networks of few convolutions are left
// alone.
constexpr double kGrouped = 1.358;
constexpr double kSmall = 0.783;
constexpr double kNarrowing = 0.725;
constexpr double kOthers = 0.823;
constexpr std::int64_t kSmallChannels = 64;
constexpr std::int64_t kNarrowingRatio = 2;
constexpr std::int64_t kMostNodesOfAConvolution = 300;
// Nodes there are those of decomposed operators: a layer norm is eight, a linear layer three. So many leave VOLO-D1 and
// NesT alone, as a comment there says of them.
constexpr std::int64_t kNodesOfAnOperator = 4;

double relative_time(const Convolution& convolution) {
  const std::int64_t inputs = convolution.in_channels / convolution.groups;
  if (convolution.groups > 1 && inputs > 1) return kGrouped;
  if (convolution.out_channels <= kSmallChannels && inputs <= kSmallChannels) return kSmall;
  if (convolution.out_channels * kNarrowingRatio <= inputs && convolution.window_elements() > 1) return kNarrowing;
  return kOthers;
}

}  // namespace

bool runs_channels_last(const Graph& graph) {
  double flops = 0;
  double weighted = 0;
  std::int64_t count = 0;
  for (const Node& node : graph.nodes) {
    const std::optional<Convolution> convolution = convolution_of(graph, node);
    if (!convolution) continue;
    ++count;
    flops += node.cost.macs;
    weighted += node.cost.macs * relative_time(*convolution);
  }
  const auto nodes = static_cast<std::int64_t>(graph.nodes.size()) * kNodesOfAnOperator;
  return count > 0 && nodes < count * kMostNodesOfAConvolution && weighted <= flops;
}

}  // namespace latpred
