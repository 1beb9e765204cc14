#include <utility>

#include "latpred/error.h"
#include "latpred/shapes.h"
#include "shapes/engine.h"

namespace latpred {

namespace {

using shapes::Engine;
using shapes::InputSizes;

// A number for the batch may be baked into constants anywhere: the walk at the saved batch shows what they meant. A
// symbol means that the file says what it says; where that fails, some constant was baked in all the same.
Graph resolve_at(const Program& program, const InputSizes& sizes) {
  if (sizes.asked == sizes.saved) return Engine(program, sizes, nullptr).run();
  if (!sizes.is_static) {
    try {
      return Engine(program, sizes, nullptr).run();
    } catch (const ShapeError& as_written) {
      InputSizes at_saved = sizes;
      at_saved.asked = sizes.saved;
      at_saved.symbols = sizes.saved_symbols;
      try {
        Engine saved(program, at_saved, nullptr);
        (void)saved.run();
        return Engine(program, sizes, &saved).run();
      } catch (const ShapeError&) {
        throw as_written;
      }
    }
  }
  InputSizes at_saved = sizes;
  at_saved.asked = sizes.saved;
  Engine saved(program, at_saved, nullptr);
  (void)saved.run();
  return Engine(program, sizes, &saved).run();
}

}  // namespace

Graph resolve(std::shared_ptr<const Program> program, const InputRequest& request) {
  const InputSizes sizes = shapes::input_sizes(*program, request);
  Graph graph = resolve_at(*program, sizes);
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
