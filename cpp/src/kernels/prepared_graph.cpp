#include "prepared_graph.h"

#include <utility>

#include "inlined_nodes.h"
#include "strided_inputs.h"
#include "strides.h"

namespace latpred {
namespace {

std::vector<int> count_uses(const Graph& graph) {
  std::vector<int> uses(graph.tensors.size(), 0);
  for (const Node& node : graph.nodes) {
    for (const TensorId id : node.inputs) {
      if (id != kAbsent) ++uses[id];
    }
  }
  for (const TensorId id : graph.outputs) ++uses[id];
  return uses;
}

}  // namespace

PreparedGraph prepare(const Graph& graph, const Runtime& runtime, const Precision& precision) {
  const bool gets_channels_last = runtime.strided_views && graph.channels_last();
  std::vector<CostKind> kinds;
  kinds.reserve(graph.nodes.size());
  for (const Node& node : graph.nodes) kinds.push_back(cost_kind(graph, node));
  Storage storage = assign_storage(graph, kinds, runtime, precision);
  ViewInfo views = runtime.strided_views ? find_views(graph, gets_channels_last) : find_plain_views(graph);
  for (std::size_t position = 0; position < kinds.size(); ++position) {
    if (kinds[position] == CostKind::view && !views.is_view[position]) kinds[position] = CostKind::copy;
  }
  InlinedNodes inlined;
  if (runtime.fuses_shared) inlined = inline_nodes(graph, kinds, views, storage);
  MemoryReaders readers(graph, kinds, views);
  Repeated repeated;
  std::optional<InductorPlan> plan;
  if (runtime.fuses_shared) {
    repeated = Repeated(graph, kinds, views, readers);
    plan = plan_inductor(graph, kinds, views, std::move(inlined), repeated);
  }
  // Other frameworks' files say in which order an image stands, and cost the same in both.
  std::vector<bool> images;
  if (gets_channels_last || (runtime.strided_views && is_of_pytorch(graph))) {
    images = channels_last_tensors(graph, views.strides);
  }
  return {.graph = graph,
          .runtime = runtime,
          .gets_channels_last = gets_channels_last,
          .kinds = std::move(kinds),
          .storage = std::move(storage),
          .views = std::move(views),
          .channels_last = std::move(images),
          .num_uses = count_uses(graph),
          .readers = std::move(readers),
          .repeated = std::move(repeated),
          .plan = std::move(plan)};
}

}  // namespace latpred
