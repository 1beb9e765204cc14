#include <utility>

#include "latpred/shapes.h"
#include "shapes/engine.h"

namespace latpred {

Graph resolve(std::shared_ptr<const Program> program, const InputRequest& request) {
  using shapes::Engine;
  const shapes::InputSizes sizes = shapes::input_sizes(*program, request);
  Engine saved(*program, sizes, nullptr);
  Graph graph = saved.run();
  if (sizes.asked != sizes.saved) graph = Engine(*program, sizes, &saved).run();
  graph.batch = sizes.asked_batch;
  graph.warnings.insert(graph.warnings.begin(), program->warnings.begin(), program->warnings.end());
  graph.program = std::move(program);
  graph.request = request;
  check(graph);
  return graph;
}

Graph with_batch(const Graph& graph, std::int64_t batch) {
  InputRequest request = graph.request;
  request.batch = batch;
  return resolve(graph.program, request);
}

}  // namespace latpred
