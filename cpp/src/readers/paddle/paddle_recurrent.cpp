#include "latpred/text.h"
#include "readers/paddle/paddle_lowering.h"

namespace latpred::readers {
namespace {

using Numbers = std::vector<std::int64_t>;

Attributes with(std::string_view name, AttributeValue value) {
  Attributes attributes;
  attributes.set(std::string(name), std::move(value));
  return attributes;
}

VariableId stacked(PaddleLowering& lowering, const std::vector<VariableId>& parts) {
  std::vector<VariableId> rows;
  for (const VariableId part : parts) {
    rows.push_back(lowering.make(OperatorId::unsqueeze, {part}, with("axes", Numbers{0})));
  }
  return rows.size() == 1 ? rows.front() : lowering.make(OperatorId::concat, rows, with("axis", std::int64_t{0}));
}

VariableId joined(PaddleLowering& lowering, const std::vector<VariableId>& parts, std::int64_t axis) {
  return parts.size() == 1 ? parts.front() : lowering.make(OperatorId::concat, parts, with("axis", axis));
}

struct ModeRow {
  std::string_view name;
  OperatorId op;
};

constexpr ModeRow kModes[] = {
    {"LSTM", OperatorId::lstm}, {"GRU", OperatorId::gru}, {"RNN_TANH", OperatorId::rnn}, {"RNN_RELU", OperatorId::rnn}};

// Layers of LSTM, GRU or plain recurrence over [length, batch, input]. The list of weights has input's and state's of
// every layer and direction, then both biases of every layer and direction; the first state (and cell) of all layers is
// one tensor.
void recurrent_layers(PaddleLowering& lowering, OperatorId) {
  const std::string mode = lowering.text({"mode"}, "LSTM");
  OperatorId op = OperatorId::unknown;
  std::vector<std::string> modes;
  for (const ModeRow& row : kModes) {
    modes.emplace_back(row.name);
    if (row.name == mode) op = row.op;
  }
  if (op == OperatorId::unknown) lowering.fail(unknown_name_message("mode", mode, modes));
  const std::int64_t directions = lowering.integer({"is_bidirec"}, 0) != 0 ? 2 : 1;
  const std::int64_t layers = lowering.integer({"num_layers"}, 1);
  const std::vector<VariableId> weights = lowering.inputs("WeightList", 2);
  const std::vector<VariableId> states = lowering.inputs("PreState", 1);
  constexpr std::int64_t kMaxLayers = 10'000;
  if (layers < 1 || layers > kMaxLayers) lowering.fail(concat("its number of layers is ", layers));
  const auto cells = static_cast<std::size_t>(layers * directions);
  if (weights.size() != 4 * cells) {
    lowering.fail(concat("it has ", weights.size(), " weights, ", layers, " layers in ", directions,
                         " directions need ", 4 * cells));
  }
  Attributes attributes = attributes_of({{"hidden_size", lowering.integer({"hidden_size"}, 0)}});
  if (directions == 2) attributes.set("direction", std::string("bidirectional"));
  VariableId value = lowering.needed("Input", 0);
  std::vector<VariableId> hidden;
  std::vector<VariableId> cell;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    std::vector<VariableId> from_input;
    std::vector<VariableId> from_state;
    std::vector<VariableId> biases;
    for (std::int64_t direction = 0; direction < directions; ++direction) {
      const auto at = static_cast<std::size_t>(2 * (layer * directions + direction));
      from_input.push_back(weights[at]);
      from_state.push_back(weights[at + 1]);
      biases.push_back(joined(lowering, {weights[2 * cells + at], weights[2 * cells + at + 1]}, 0));
    }
    std::vector<VariableId> inputs{value, stacked(lowering, from_input), stacked(lowering, from_state),
                                   stacked(lowering, biases), kAbsent};
    for (const VariableId state : states) {
      inputs.push_back(layers == 1 ? state
                                   : lowering.make(OperatorId::slice, {state},
                                                   attributes_of({{"axes", Numbers{0}},
                                                                  {"starts", Numbers{layer * directions}},
                                                                  {"ends", Numbers{(layer + 1) * directions}}})));
    }
    const VariableId every = lowering.temporary();
    hidden.push_back(lowering.temporary());
    std::vector<VariableId> outputs{every, hidden.back()};
    if (op == OperatorId::lstm) {
      cell.push_back(lowering.temporary());
      outputs.push_back(cell.back());
    }
    lowering.emit(op, std::move(inputs), std::move(outputs), attributes);
    // [length, directions, batch, hidden] -> [length, batch, directions * hidden]
    const VariableId result = layer + 1 == layers ? lowering.output() : lowering.temporary();
    if (directions == 1) {
      lowering.emit(OperatorId::squeeze, {every}, {result}, with("axes", Numbers{1}));
    } else {
      const VariableId turned = lowering.make(OperatorId::transpose, {every}, with("perm", Numbers{0, 2, 1, 3}));
      lowering.emit(OperatorId::reshape, {turned}, {result}, with("shape", Numbers{0, 0, -1}));
    }
    value = result;
  }
  const std::vector<VariableId> last = lowering.outputs("State", 2);
  if (!last.empty()) {
    lowering.emit(OperatorId::concat, hidden, {last[0]}, with("axis", std::int64_t{0}));
    if (last.size() > 1 && !cell.empty()) {
      lowering.emit(OperatorId::concat, cell, {last[1]}, with("axis", std::int64_t{0}));
    }
  }
}

void warn_of_sequences(PaddleLowering& lowering) {
  lowering.assembly().warn(
      concat("operator '", lowering.op().node, "' (", lowering.op().name,
             ") runs over sequences that are laid end to end; predicted as one sequence of all their elements"));
  if (lowering.input("H0", 1) != kAbsent) {
    lowering.assembly().warn(concat("operator '", lowering.op().node, "': its initial state is not counted"));
  }
}

// What Paddle 1 calls gru and lstm: over [elements, gates * hidden], what its input adds to the gates already
// multiplied; weight [hidden, gates * hidden].
void over_gates(PaddleLowering& lowering, OperatorId op) {
  warn_of_sequences(lowering);
  const bool is_lstm = op == OperatorId::lstm;
  const VariableId x = lowering.make(OperatorId::unsqueeze, {lowering.needed("Input", 0)}, with("axes", Numbers{1}));
  const VariableId turned =
      lowering.make(OperatorId::transpose, {lowering.needed("Weight", is_lstm ? 3 : 2)}, with("perm", Numbers{1, 0}));
  const VariableId every = lowering.temporary();
  lowering.emit(op, {x, kAbsent, stacked(lowering, {turned}), lowering.input("Bias", is_lstm ? 4 : 3)}, {every},
                with("projected", std::int64_t{1}));
  lowering.emit(OperatorId::squeeze, {every}, {lowering.output("Hidden", is_lstm ? 0 : 3)},
                with("axes", Numbers{1, 2}));
}

// The same with the multiplication of its input in it: over [elements, input].
void over_inputs(PaddleLowering& lowering, OperatorId op) {
  warn_of_sequences(lowering);
  const bool is_lstm = op == OperatorId::lstm;
  const VariableId x = lowering.make(OperatorId::unsqueeze, {lowering.needed("X", 0)}, with("axes", Numbers{1}));
  std::vector<VariableId> weights;
  for (const auto& [name, position] :
       {std::pair<std::string_view, std::size_t>{"WeightX", is_lstm ? 1 : 2}, {"WeightH", is_lstm ? 2 : 3}}) {
    const VariableId turned =
        lowering.make(OperatorId::transpose, {lowering.needed(name, position)}, with("perm", Numbers{1, 0}));
    weights.push_back(stacked(lowering, {turned}));
  }
  const VariableId every = lowering.temporary();
  lowering.emit(op, {x, weights[0], weights[1], lowering.input("Bias", is_lstm ? 3 : 4)}, {every});
  lowering.emit(OperatorId::squeeze, {every}, {lowering.output("Hidden", is_lstm ? 0 : 4)},
                with("axes", Numbers{1, 2}));
}

void crf_decoding(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, {lowering.needed("Emission", 0), lowering.needed("Transition", 1)},
                {lowering.output("ViterbiPath", 0)});
}

}  // namespace

const std::vector<PaddleRow>& paddle_recurrent_rows() {
  static const std::vector<PaddleRow> rows{
      {"rnn", kBoth, recurrent_layers, OperatorId::lstm},
      {"gru", kBoth, over_gates, OperatorId::gru},
      {"dynamic_gru", kBoth, over_gates, OperatorId::gru},
      {"lstm", kBoth, over_gates, OperatorId::lstm},
      {"dynamic_lstm", kBoth, over_gates, OperatorId::lstm},
      {"fusion_gru", kBoth, over_inputs, OperatorId::gru},
      {"fusion_lstm", kBoth, over_inputs, OperatorId::lstm},
      {"crf_decoding", kBoth, crf_decoding, OperatorId::crf_decoding},
  };
  return rows;
}

}  // namespace latpred::readers
