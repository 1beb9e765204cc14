#include <iterator>
#include <string>
#include <utility>

#include "readers/torch/aten_operators.h"

namespace latpred::readers {
namespace {

// Input, weights, recurrence, bias, -, state, cell, -, then what ONNX has no place for: the second bias, and all of
// these of the other direction.
constexpr std::size_t kBias = 3;
constexpr std::size_t kState = 5;
constexpr std::size_t kCell = 6;
constexpr std::size_t kRest = 8;

struct Layers {
  std::int64_t count;
  std::int64_t directions;
  std::size_t parameters;  // of one direction of one layer
  bool has_cell;
  bool has_biases;
};

Attributes attributes_of_layer(const AtenCall& call, const Layers& layers) {
  Attributes attributes;
  attributes.set("direction", std::string(layers.directions == 2 ? "bidirectional" : "forward"));
  attributes.set("layout", static_cast<std::int64_t>(call.flag("batch_first")));
  attributes.set("merged_directions", std::int64_t{1});
  return attributes;
}

// `states` [layers * directions, batch, hidden]: those of one layer.
VariableId states_of_layer(const AtenCall& call, const Layers& layers, VariableId states, std::int64_t layer) {
  if (layers.count == 1) return states;
  const Shape first{layer * layers.directions};
  const Shape last{(layer + 1) * layers.directions};
  return call.part(OperatorId::slice, {states}, call.dtype(states),
                   attributes_of({{"starts", first}, {"ends", last}, {"axes", Shape{0}}}));
}

std::vector<VariableId> inputs_of_layer(const Layers& layers, const std::vector<VariableId>& parameters,
                                        std::int64_t layer) {
  std::vector<VariableId> inputs(kRest, kAbsent);
  for (std::int64_t direction = 0; direction < layers.directions; ++direction) {
    const auto first = static_cast<std::size_t>(layer * layers.directions + direction) * layers.parameters;
    for (std::size_t i = 0; i < layers.parameters; ++i) {
      const bool has_place = direction == 0 && i + 1 <= kBias;
      if (has_place) {
        inputs[i + 1] = parameters[first + i];
      } else {
        inputs.push_back(parameters[first + i]);
      }
    }
  }
  return inputs;
}

// All layers in one call, their parameters in one list.
void layers(const AtenCall& call) {
  const bool has_cell = call.row().op == OperatorId::lstm;
  Layers layers{.count = call.integer("num_layers"),
                .directions = call.flag("bidirectional") ? 2 : 1,
                .parameters = call.flag("has_biases") ? std::size_t{4} : std::size_t{2},
                .has_cell = has_cell,
                .has_biases = call.flag("has_biases")};
  const std::vector<VariableId> parameters = call.tensors("params");
  const std::vector<VariableId> states = call.tensors("hx");
  if (layers.count < 1 || layers.count > std::ssize(parameters) ||
      static_cast<std::size_t>(layers.count * layers.directions) * layers.parameters != parameters.size() ||
      states.size() != (has_cell ? 2 : 1)) {
    call.fail("has other weights than its layers need; projections are not supported");
  }
  VariableId x = call.required("input");
  const DType dtype = call.dtype(x);
  const std::size_t num_states = states.size();
  std::vector<std::vector<VariableId>> last(num_states);
  for (std::int64_t layer = 0; layer < layers.count; ++layer) {
    const bool is_last = layer + 1 == layers.count;
    std::vector<VariableId> inputs = inputs_of_layer(layers, parameters, layer);
    inputs[0] = x;
    inputs[kState] = states_of_layer(call, layers, states[0], layer);
    if (has_cell) inputs[kCell] = states_of_layer(call, layers, states[1], layer);
    std::vector<VariableId> outputs{is_last ? call.output() : call.between(dtype)};
    for (std::size_t i = 0; i < num_states; ++i) {
      outputs.push_back(layers.count == 1 ? call.output(i + 1) : call.between(dtype));
      last[i].push_back(outputs.back());
    }
    x = outputs[0];
    Statement statement = call.statement(call.row().op, std::move(inputs), std::move(outputs));
    statement.attributes = attributes_of_layer(call, layers);
    if (is_last) {
      call.append(std::move(statement));
    } else {
      statement.name += "/" + std::to_string(layer);
      call.assembly().append_part(std::move(statement));
    }
  }
  if (layers.count == 1) return;
  for (std::size_t i = 0; i < num_states; ++i) {
    Statement joined = call.statement(OperatorId::concat, last[i], {call.output(i + 1)});
    joined.attributes.set("axis", std::int64_t{0});
    joined.name += i == 0 ? "/states" : "/cells";
    call.assembly().append_part(std::move(joined));
  }
}

// One step: a sequence of one.
void cell(const AtenCall& call) {
  const bool has_cell = call.row().op == OperatorId::lstm;
  const VariableId x = call.required("input");
  const DType dtype = call.dtype(x);
  const Attributes first = attributes_of({{"axes", Shape{0}}});
  const auto as_sequence = [&](VariableId one) { return call.part(OperatorId::unsqueeze, {one}, dtype, first); };
  std::vector<VariableId> inputs(kRest, kAbsent);
  inputs[0] = as_sequence(x);
  inputs[1] = call.required("w_ih");
  inputs[2] = call.required("w_hh");
  inputs[kBias] = call.tensor("b_ih");
  const std::vector<VariableId> states = call.tensors("hx");
  if (states.size() != (has_cell ? 2 : 1)) call.fail("has another number of states than it needs");
  inputs[kState] = as_sequence(states[0]);
  if (has_cell) inputs[kCell] = as_sequence(states[1]);
  if (call.has("b_hh")) inputs.push_back(call.tensor("b_hh"));
  std::vector<VariableId> outputs;
  for (std::size_t i = 0; i <= states.size(); ++i) outputs.push_back(call.between(dtype));
  Statement statement = call.statement(call.row().op, std::move(inputs), outputs);
  statement.attributes.set("merged_directions", std::int64_t{1});
  call.append(std::move(statement));
  for (std::size_t i = 0; i < states.size(); ++i) {
    Statement last = call.statement(OperatorId::squeeze, {outputs[i + 1]}, {call.output(i)});
    last.attributes = first;
    last.name += "/state";
    call.assembly().append_part(std::move(last));
  }
}

using Op = OperatorId;

constexpr AtenRow kRecurrences[] = {
    {"lstm.input", Op::lstm, layers},    {"gru.input", Op::gru, layers},   {"rnn_tanh.input", Op::rnn, layers},
    {"rnn_relu.input", Op::rnn, layers}, {"lstm_cell", Op::lstm, cell},    {"gru_cell", Op::gru, cell},
    {"rnn_tanh_cell", Op::rnn, cell},    {"rnn_relu_cell", Op::rnn, cell},
};

}  // namespace

std::span<const AtenRow> aten_recurrences() { return kRecurrences; }

}  // namespace latpred::readers
