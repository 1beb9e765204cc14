#include "latpred/normalize.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "latpred/operators.h"
#include "normalize/rewriter.h"
#include "normalize/rules.h"

namespace latpred {
namespace {

struct Rule {
  NormalizationRule row;
  void (*run)(Rewriter&);
  std::vector<OperatorId> triggers;  // without any of these, the rule finds nothing
};

using Id = OperatorId;

// In this order: a rule sees what those before it made. To add one: a row here, its function in the file of its
// subject, and tests of what it takes and of what it must leave.
const std::vector<Rule>& rules() {
  static const std::vector<Rule> table{
      {{"views", "what hands its input on unchanged and launches nothing", true},
       drop_views,
       {Id::identity, Id::dropout, Id::cast, Id::cast_like, Id::reshape, Id::flatten, Id::squeeze, Id::unsqueeze,
        Id::expand, Id::transpose, Id::slice}},
      {{"copies", "what hands its input on as a copy: pads of zero, a concatenation of one", false},
       drop_copies,
       {Id::identity, Id::pad, Id::tile, Id::concat, Id::sum, Id::mean, Id::max, Id::min, Id::split}},
      {{"transposes", "transposes of transposes", true}, join_transposes, {Id::transpose}},
      {{"images", "images that are turned for an operator and turned back behind it", false},
       turn_images,
       {Id::transpose}},
      {{"activations", "GELU, SiLU, Mish, hard sigmoid and hard swish, operator by operator", false},
       recognize_activations,
       {Id::erf, Id::tanh, Id::sigmoid, Id::softplus, Id::clip, Id::hard_sigmoid, Id::exp}},
      {{"layer_norm", "layer and RMS norms, operator by operator", false},
       recognize_layer_norm,
       {Id::rsqrt, Id::sqrt, Id::pow}},
      {{"biases", "a bias added behind the convolution or product that it belongs to", false},
       join_biases,
       {Id::bias_add, Id::add}},
      {{"batch_norm", "a scale and a shift of each channel behind a convolution", false},
       recognize_batch_norm,
       {Id::mul}},
      {{"attention", "products of queries, keys and values around a softmax", false},
       recognize_attention,
       {Id::softmax}},
      {{"quantization", "operands that are dequantised for an operator that takes integers", false},
       fold_quantization,
       {Id::quantize_linear, Id::dequantize_linear}},
  };
  return table;
}

// What a file of these says is what is launched: PyTorch's eager mode runs each operator of the list, and a recipe
// names the operators that were measured. Elsewhere the file is a description: who wrote it may have split what every
// library has whole, and the runtime puts it together again.
constexpr std::array<std::string_view, 3> kExecutedAsWritten{"pytorch", "builder", ""};

bool is_executed_as_written(const Graph& graph) {
  if (graph.program == nullptr) return false;  // nobody's file
  const std::string_view framework = graph.program->source.framework;
  return std::find(kExecutedAsWritten.begin(), kExecutedAsWritten.end(), framework) != kExecutedAsWritten.end();
}

}  // namespace

Graph normalize(Graph graph) {
  std::vector<char> occurs(operators().size());
  for (const Node& node : graph.nodes) occurs.at(static_cast<std::size_t>(node.op)) = 1;
  const bool as_written = is_executed_as_written(graph);
  std::vector<const Rule*> wanted;
  for (const Rule& rule : rules()) {
    if (as_written && !rule.row.for_executed) continue;
    const bool is_triggered = std::any_of(rule.triggers.begin(), rule.triggers.end(),
                                          [&](OperatorId id) { return occurs[static_cast<std::size_t>(id)] != 0; });
    if (is_triggered) wanted.push_back(&rule);
  }
  if (wanted.empty()) return graph;
  Rewriter rewriter(std::move(graph));
  for (const Rule* rule : wanted) rule->run(rewriter);
  return rewriter.finish();
}

const std::vector<NormalizationRule>& normalization_rules() {
  static const std::vector<NormalizationRule> rows = [] {
    std::vector<NormalizationRule> made;
    for (const Rule& rule : rules()) made.push_back(rule.row);
    return made;
  }();
  return rows;
}

}  // namespace latpred
