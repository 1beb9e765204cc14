// Operators that call subgraphs, keep variables, or have no row of ours.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "latpred/text.h"
#include "readers/tflite/tflite_lowering.h"

namespace latpred::readers {
namespace {

std::size_t subgraph_of(const TfliteNode& node, int field) {
  const auto index = node.option<std::int32_t>(field, 0);
  if (index < 0) node.fail(concat("calls subgraph ", index));
  return static_cast<std::size_t>(index);
}

void bind_outputs(TfliteNode& node, const std::vector<VariableId>& results) {
  if (results.size() < node.num_outputs()) {
    node.fail(concat("reads ", node.num_outputs(), " results of a subgraph that gives ", results.size()));
  }
  for (std::size_t i = 0; i < node.num_outputs(); ++i) node.bind_output(i, results[i]);
}

void call(TfliteNode& node, OperatorId) {
  node.count();
  bind_outputs(node, node.lowering().inline_subgraph(subgraph_of(node, 0), node.inputs()));
}

// One operator with a name of its own, whose parts stand in a subgraph.
void composite(TfliteNode& node, OperatorId) {
  node.count();
  bind_outputs(node, node.lowering().inline_subgraph(subgraph_of(node, 1), node.inputs()));
}

// Its branches read what the condition's neighbours in the list of inputs are.
void conditional(TfliteNode& node, OperatorId op) {
  std::vector<Block> branches;
  for (const int field : {0, 1}) {
    node.assembly().open_body();
    std::vector<VariableId> results = node.lowering().inline_subgraph(subgraph_of(node, field), node.inputs(1));
    branches.push_back(node.assembly().close_body({}, std::move(results)));
  }
  node.finish_with_bodies(op, {node.input(0)}, std::move(branches));
}

// How a loop that counts does so: LESS(state, limit) as its condition, state + step in its body.
struct Counting {
  std::size_t state;
  std::int64_t limit;
};

constexpr int kAdd = 0;
constexpr int kLess = 58;
constexpr int kLogicalAnd = 86;

std::optional<std::int64_t> stored_number(const TfliteLowering& lowering, const TfliteScope& scope,
                                          std::int32_t tensor) {
  const auto value = lowering.value_of(scope, tensor);
  if (value == nullptr || value->integers.size() != 1) return std::nullopt;
  return value->integers.front();
}

std::optional<std::size_t> position_in(const std::vector<std::int32_t>& tensors, std::int32_t tensor) {
  const auto found = std::find(tensors.begin(), tensors.end(), tensor);
  if (found == tensors.end()) return std::nullopt;
  return static_cast<std::size_t>(found - tensors.begin());
}

// The comparisons that all must hold; nothing where the condition is of another form.
std::optional<std::vector<Counting>> countings_of(const TfliteLowering& lowering, std::size_t condition) {
  const TfliteScope scope = lowering.open_scope(condition);
  const std::vector<std::int32_t> inputs = lowering.inputs_of(condition);
  std::vector<std::int32_t> pending = lowering.outputs_of(condition);
  std::vector<Counting> countings;
  constexpr std::size_t kMostComparisons = 8;
  while (!pending.empty()) {
    const auto maker = lowering.maker_of(scope, pending.back());
    pending.pop_back();
    if (!maker || maker->inputs.size() != 2 || pending.size() + countings.size() > kMostComparisons)
      return std::nullopt;
    if (maker->code == kLogicalAnd) {
      pending.insert(pending.end(), maker->inputs.begin(), maker->inputs.end());
      continue;
    }
    const auto state = position_in(inputs, maker->inputs[0]);
    const auto limit = stored_number(lowering, scope, maker->inputs[1]);
    if (maker->code != kLess || !state || !limit) return std::nullopt;
    countings.push_back({*state, *limit});
  }
  return countings;
}

// How often the loop turns, where stored numbers alone tell.
std::optional<std::int64_t> turns_of(const TfliteNode& node, std::size_t condition, std::size_t body) {
  const TfliteLowering& lowering = node.lowering();
  const auto countings = countings_of(lowering, condition);
  if (!countings || countings->empty()) return std::nullopt;
  const TfliteScope scope = lowering.open_scope(body);
  const std::vector<std::int32_t> inputs = lowering.inputs_of(body);
  const std::vector<std::int32_t> outputs = lowering.outputs_of(body);
  std::optional<std::int64_t> turns;
  for (const auto& [state, limit] : *countings) {
    if (state >= outputs.size() || state >= inputs.size()) return std::nullopt;
    const auto start = node.integers(state);
    const auto maker = lowering.maker_of(scope, outputs[state]);
    if (!start || start->size() != 1 || !maker || maker->code != kAdd || maker->inputs.size() != 2) return std::nullopt;
    const bool is_first = maker->inputs[0] == inputs[state];
    if (!is_first && maker->inputs[1] != inputs[state]) return std::nullopt;
    const auto step = stored_number(lowering, scope, maker->inputs[is_first ? 1 : 0]);
    std::int64_t distance = 0;
    if (!step || *step < 1 || __builtin_sub_overflow(limit, start->front(), &distance)) return std::nullopt;
    const std::int64_t count = distance <= 0 ? 0 : (distance - 1) / *step + 1;
    turns = turns ? std::min(*turns, count) : count;
  }
  return turns;
}

// All inputs are states. The condition is asked before the first turn and after each.
void repeated(TfliteNode& node, OperatorId op) {
  const std::size_t condition = subgraph_of(node, 0);
  const std::size_t body = subgraph_of(node, 1);
  const std::vector<VariableId> starts = node.inputs();
  const std::optional<std::int64_t> turns = turns_of(node, condition, body);
  Assembly& assembly = node.assembly();
  const auto ask = [&](const std::vector<VariableId>& states) {
    const std::vector<VariableId> answer = node.lowering().inline_subgraph(condition, states);
    if (answer.size() != 1) node.fail("has a condition that is not one value");
    return answer.front();
  };
  std::vector<VariableId> operands{turns ? node.number(*turns) : kAbsent, turns ? kAbsent : ask(starts)};
  operands.insert(operands.end(), starts.begin(), starts.end());

  assembly.open_body();
  std::vector<VariableId> inputs{assembly.result(concat(node.name(), "/turn"), DType::int64, std::vector<Dimension>()),
                                 assembly.result(concat(node.name(), "/goes_on"), DType::boolean)};
  std::vector<VariableId> states;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    states.push_back(assembly.result(concat(node.name(), "/state_", i), node.dtype(i)));
  }
  inputs.insert(inputs.end(), states.begin(), states.end());
  std::vector<VariableId> results = node.lowering().inline_subgraph(body, states);
  results.insert(results.begin(), turns ? inputs[1] : ask(results));
  std::vector<Block> bodies;
  bodies.push_back(assembly.close_body(std::move(inputs), std::move(results)));
  node.finish_with_bodies(op, std::move(operands), std::move(bodies));
}

// What runs once, before the first inference, and handles of variables: no part of an inference.
void skipped(TfliteNode& node, OperatorId) { node.count(); }

// The content of a variable: a buffer, whose sizes the file declares.
void read_variable(TfliteNode& node, OperatorId) {
  const auto shape = node.output_shape(0);
  if (!shape) node.fail("reads a variable whose sizes the file does not declare");
  for (const std::int64_t size : *shape) {
    if (size == kUnknownSize) node.fail("reads a variable whose sizes the file leaves open");
  }
  node.count();
  node.bind_output(0, node.assembly().stored(concat(node.name(), "/variable"), node.output_dtype(0), *shape, false));
}

}  // namespace

const std::vector<TfliteOperatorRow>& tflite_control() {
  static const std::vector<TfliteOperatorRow> rows{
      {31, "CALL", OperatorId::identity, call},
      {118, "IF", OperatorId::conditional, conditional},
      {119, "WHILE", OperatorId::loop, repeated},
      {129, "CALL_ONCE", OperatorId::identity, skipped},
      {142, "VAR_HANDLE", OperatorId::identity, skipped},
      {143, "READ_VARIABLE", OperatorId::identity, read_variable},
      {144, "ASSIGN_VARIABLE", OperatorId::identity, skipped},
      {206, "STABLEHLO_COMPOSITE", OperatorId::identity, composite},
      // Known by name only: their sizes are those that the file declares.
      {10, "HASHTABLE_LOOKUP", OperatorId::unknown, lower_as_declared},
      {15, "LSH_PROJECTION", OperatorId::unknown, lower_as_declared},
      {29, "CONCAT_EMBEDDINGS", OperatorId::unknown, lower_as_declared},
      {30, "SKIP_GRAM", OperatorId::unknown, lower_as_declared},
      {33, "EMBEDDING_LOOKUP_SPARSE", OperatorId::unknown, lower_as_declared},
      {46, "BIDIRECTIONAL_SEQUENCE_RNN", OperatorId::unknown, lower_as_declared},
      {51, "DELEGATE", OperatorId::unknown, lower_as_declared},
      {52, "BIDIRECTIONAL_SEQUENCE_LSTM", OperatorId::unknown, lower_as_declared},
      {68, "SPARSE_TO_DENSE", OperatorId::unknown, lower_as_declared},
      {113, "MATRIX_DIAG", OperatorId::unknown, lower_as_declared},
      {115, "MATRIX_SET_DIAG", OperatorId::unknown, lower_as_declared},
      {120, "NON_MAX_SUPPRESSION_V4", OperatorId::unknown, lower_as_declared},
      {121, "NON_MAX_SUPPRESSION_V5", OperatorId::unknown, lower_as_declared},
      {124, "DENSIFY", OperatorId::unknown, lower_as_declared},
      {125, "SEGMENT_SUM", OperatorId::unknown, lower_as_declared},
      {131, "RFFT2D", OperatorId::unknown, lower_as_declared},
      {133, "IMAG", OperatorId::unknown, lower_as_declared},
      {134, "REAL", OperatorId::unknown, lower_as_declared},
      {135, "COMPLEX_ABS", OperatorId::unknown, lower_as_declared},
      {136, "HASHTABLE", OperatorId::unknown, lower_as_declared},
      {137, "HASHTABLE_FIND", OperatorId::unknown, lower_as_declared},
      {138, "HASHTABLE_IMPORT", OperatorId::unknown, lower_as_declared},
      {139, "HASHTABLE_SIZE", OperatorId::unknown, lower_as_declared},
      {147, "BUCKETIZE", OperatorId::unknown, lower_as_declared},
      {149, "MULTINOMIAL", OperatorId::unknown, lower_as_declared},
      {153, "UNSORTED_SEGMENT_PROD", OperatorId::unknown, lower_as_declared},
      {154, "UNSORTED_SEGMENT_MAX", OperatorId::unknown, lower_as_declared},
      {155, "UNSORTED_SEGMENT_SUM", OperatorId::unknown, lower_as_declared},
      {157, "UNSORTED_SEGMENT_MIN", OperatorId::unknown, lower_as_declared},
      {167, "STABLEHLO_RESHAPE", OperatorId::unknown, lower_as_declared},
      {168, "STABLEHLO_CLAMP", OperatorId::unknown, lower_as_declared},
      {169, "STABLEHLO_CONCATENATE", OperatorId::unknown, lower_as_declared},
      {170, "STABLEHLO_BROADCAST_IN_DIM", OperatorId::unknown, lower_as_declared},
      {171, "STABLEHLO_CONVOLUTION", OperatorId::unknown, lower_as_declared},
      {172, "STABLEHLO_SLICE", OperatorId::unknown, lower_as_declared},
      {173, "STABLEHLO_CUSTOM_CALL", OperatorId::unknown, lower_as_declared},
      {174, "STABLEHLO_REDUCE", OperatorId::unknown, lower_as_declared},
      {183, "STABLEHLO_OR", OperatorId::unknown, lower_as_declared},
      {185, "STABLEHLO_REMAINDER", OperatorId::unknown, lower_as_declared},
      {190, "STABLEHLO_SCATTER", OperatorId::unknown, lower_as_declared},
      {191, "STABLEHLO_COMPARE", OperatorId::unknown, lower_as_declared},
      {193, "STABLEHLO_DYNAMIC_SLICE", OperatorId::unknown, lower_as_declared},
      {194, "STABLEHLO_DYNAMIC_UPDATE_SLICE", OperatorId::unknown, lower_as_declared},
      {195, "STABLEHLO_PAD", OperatorId::unknown, lower_as_declared},
      {196, "STABLEHLO_IOTA", OperatorId::unknown, lower_as_declared},
      {197, "STABLEHLO_DOT_GENERAL", OperatorId::unknown, lower_as_declared},
      {198, "STABLEHLO_REDUCE_WINDOW", OperatorId::unknown, lower_as_declared},
      {199, "STABLEHLO_SORT", OperatorId::unknown, lower_as_declared},
      {200, "STABLEHLO_WHILE", OperatorId::unknown, lower_as_declared},
      {201, "STABLEHLO_GATHER", OperatorId::unknown, lower_as_declared},
      {202, "STABLEHLO_TRANSPOSE", OperatorId::unknown, lower_as_declared},
      {203, "DILATE", OperatorId::unknown, lower_as_declared},
      {204, "STABLEHLO_RNG_BIT_GENERATOR", OperatorId::unknown, lower_as_declared},
      {205, "REDUCE_WINDOW", OperatorId::unknown, lower_as_declared},
      {207, "STABLEHLO_SHIFT_LEFT", OperatorId::unknown, lower_as_declared},
      {208, "STABLEHLO_CBRT", OperatorId::unknown, lower_as_declared},
      {209, "STABLEHLO_CASE", OperatorId::unknown, lower_as_declared},
  };
  return rows;
}

}  // namespace latpred::readers
