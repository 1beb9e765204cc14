#include <algorithm>

#include "latpred/text.h"
#include "readers/keras/keras_network.h"

namespace latpred::readers::keras {
namespace {

// Tensors of a lower rank get dimensions of 1 behind the batch.
Variables aligned(Call& call) {
  Variables inputs = call.inputs();
  if (inputs.size() < 2) call.fail("merges fewer than 2 tensors");
  std::size_t rank = 0;
  for (const VariableId id : inputs) rank = std::max(rank, call.rank(id));
  for (VariableId& id : inputs) {
    Shape axes;
    for (std::size_t i = call.rank(id); i < rank; ++i) axes.push_back(static_cast<std::int64_t>(axes.size()) + 1);
    if (!axes.empty()) id = call.make(OperatorId::unsqueeze, {id}, {{"axes", axes}}, "unsqueeze");
  }
  return inputs;
}

// Two at a time, as Keras computes them.
template <OperatorId kOp>
VariableId chained(Call& call) {
  const Variables inputs = aligned(call);
  VariableId result = inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    result = call.make(kOp, {result, inputs[i]}, {}, i == 1 ? "" : concat("part_", i));
  }
  return result;
}

template <OperatorId kOp>
Variables merge(Call& call) {
  return {chained<kOp>(call)};
}

Variables subtract(Call& call) {
  if (call.inputs().size() != 2) call.fail(concat("subtracts ", call.inputs().size(), " tensors, expected 2"));
  return {chained<OperatorId::sub>(call)};
}

Variables average(Call& call) {
  const auto count = static_cast<double>(call.inputs().size());
  const VariableId sum = chained<OperatorId::add>(call);
  return {call.make(OperatorId::div, {sum, call.scalar(count, call.dtype(sum))}, {}, "div")};
}

Variables concatenate(Call& call) {
  const Variables& inputs = call.inputs();
  if (inputs.size() == 1) return inputs;
  return {call.make(OperatorId::concat, inputs, {{"axis", call.integer("axis", -1)}})};
}

// The sum over one axis of each of two tensors, for every sample.
Variables dot(Call& call) {
  Variables inputs = call.inputs();
  if (inputs.size() != 2) call.fail(concat("is called on ", inputs.size(), " tensors, expected 2"));
  Shape axes = call.integers(call.config().at("axes"));
  if (axes.size() == 1) axes.push_back(axes[0]);
  if (axes.size() != 2) call.fail("needs one axis of each tensor");
  constexpr std::string_view kLetters = "bcdefghijklmnopqrstuvwxyz";
  constexpr char kBatch = 'a';
  constexpr char kSummed = 'A';
  std::string equation;
  std::string result(1, kBatch);
  std::size_t next = 0;
  for (std::size_t k = 0; k < 2; ++k) {
    const std::size_t rank = call.rank(inputs[k]);
    const std::size_t axis = call.axis(axes[k], rank);
    if (axis == 0 || rank > 8) call.fail("sums over no axis of a sample");
    if (call.flag("normalize", false)) {
      inputs[k] = call.make(OperatorId::lp_norm, {inputs[k]}, {{"axis", static_cast<std::int64_t>(axis)}}, "normalize");
    }
    if (k == 1) equation += ',';
    equation += kBatch;
    for (std::size_t i = 1; i < rank; ++i) {
      const char letter = i == axis ? kSummed : kLetters[next++];
      equation += letter;
      if (i != axis) result += letter;
    }
  }
  const VariableId y = call.make(OperatorId::einsum, inputs, {{"equation", concat(equation, "->", result)}});
  if (result.size() > 1) return {y};
  return {call.make(OperatorId::unsqueeze, {y}, {{"axes", Shape{1}}}, "unsqueeze")};
}

}  // namespace

const std::vector<LayerRow>& merging_layers() {
  static const std::vector<LayerRow> rows{
      {"Add", merge<OperatorId::add>},      {"Subtract", subtract},
      {"Multiply", merge<OperatorId::mul>}, {"Average", average},
      {"Maximum", merge<OperatorId::max>},  {"Minimum", merge<OperatorId::min>},
      {"Concatenate", concatenate},         {"Dot", dot},
  };
  return rows;
}

}  // namespace latpred::readers::keras
