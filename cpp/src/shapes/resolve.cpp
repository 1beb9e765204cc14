#include <utility>

#include "latpred/error.h"
#include "latpred/normalize.h"
#include "latpred/shapes.h"
#include "latpred/text.h"
#include "shapes/baked.h"
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
  return shapes::run_rebatched(program, sizes, saved);
}

// torch takes 0 and 1 for sizes of their own kind: a least size of 2 says only that nobody tried 1.
constexpr std::int64_t kLeastGeneralSize = 2;

// What the file promises of its symbols holds at the asked sizes; gives what to warn of.
std::vector<std::string> check_ranges(const Program& program, const InputSizes& sizes) {
  std::vector<std::string> warnings;
  for (const SymbolRange& range : program.ranges) {
    const auto asked = sizes.symbols.find(range.symbol);
    if (asked == sizes.symbols.end()) continue;
    const bool is_low = range.least && asked->second < *range.least;
    if (!is_low && (!range.most || asked->second <= *range.most)) continue;
    const std::string bounds = concat(range.least ? std::to_string(*range.least) : "any number", " to ",
                                      range.most ? std::to_string(*range.most) : "any number");
    if (is_low && asked->second == 1 && *range.least == kLeastGeneralSize) {
      warnings.push_back(concat("the file was made for sizes '", range.symbol, "' of ", bounds, "; predicted for 1"));
      continue;
    }
    throw InvalidArgumentError(concat("the file was made for sizes '", range.symbol, "' of ", bounds, ", asked is ",
                                      asked->second, "; ask for one of these or export it with another range"));
  }
  return warnings;
}

}  // namespace

Graph resolve(std::shared_ptr<const Program> program, const InputRequest& request) {
  const InputSizes sizes = shapes::input_sizes(*program, request);
  const std::vector<std::string> range_warnings = check_ranges(*program, sizes);
  Graph graph = resolve_at(*program, sizes);
  graph.batch = sizes.asked_batch;
  graph.warnings.insert(graph.warnings.begin(), range_warnings.begin(), range_warnings.end());
  graph.warnings.insert(graph.warnings.begin(), program->warnings.begin(), program->warnings.end());
  graph.program = std::move(program);
  graph.request = request;
  graph = normalize(std::move(graph));
  check(graph);
  return graph;
}

Graph with_batch(const Graph& graph, std::int64_t batch) {
  InputRequest request = graph.request;
  request.batch = batch;
  return resolve(graph.program, request);
}

}  // namespace latpred
