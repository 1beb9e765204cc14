#include <utility>

#include "latpred/text.h"
#include "readers/keras/keras_network.h"

namespace latpred::readers::keras {
namespace {

constexpr std::int64_t kBatchFirst = 1;  // ONNX's layout

// One class of recurrent layer: the operator and the gates in its weights.
struct CellRow {
  std::string_view layer;
  std::string_view cell;
  OperatorId op;
  std::int64_t gates;
};
constexpr CellRow kCells[] = {
    {"LSTM", "LSTMCell", OperatorId::lstm, 4},
    {"GRU", "GRUCell", OperatorId::gru, 3},
    {"SimpleRNN", "SimpleRNNCell", OperatorId::rnn, 1},
    {"CuDNNLSTM", "", OperatorId::lstm, 4},
    {"CuDNNGRU", "", OperatorId::gru, 3},
};

const CellRow* find_row(const Call& layer) {
  for (const CellRow& row : kCells) {
    if (row.layer == layer.class_name() || (!row.cell.empty() && row.cell == layer.class_name())) return &row;
  }
  return nullptr;
}

// Weights of one direction in the operator's order.
struct Direction {
  VariableId input_weight = kAbsent;      // [1, gates * hidden, input]
  VariableId recurrent_weight = kAbsent;  // [1, gates * hidden, hidden]
  VariableId bias = kAbsent;              // [1, numbers]
};

// A cell inside layer RNN has a config of its own.
struct Layer {
  Call call;
  Call cell;
  const CellRow& row;
  std::int64_t hidden;
};

Layer layer_of(Call call) {
  const bool has_cell = call.class_name() == "RNN";
  Call cell = has_cell ? call.inner(call.config().at("cell"), name_of(call.config().at("cell"))) : call;
  const CellRow* row = find_row(cell);
  if (row == nullptr) call.unsupported(concat("its cell ", cell.class_name(), " is not read"));
  if (call.flag("time_major", false)) call.unsupported("'time_major' is not read");
  const std::int64_t hidden = cell.size("units");
  return {std::move(call), std::move(cell), *row, hidden};
}

// Keras keeps [input, gates * hidden]: turned round once, when the network is loaded. `maker` names the results.
// `prefix`: of the weights' names where two layers share one config.
Direction direction_of(Call& maker, Layer& layer, std::int64_t features, const std::string& part,
                       const std::string& prefix = "") {
  const std::int64_t columns = layer.row.gates * layer.hidden;
  Call& cell = layer.cell;
  const auto turned = [&](VariableId weight, const char* name) {
    const VariableId transposed = maker.transpose(weight, {1, 0}, concat(part, name, "_transposed"));
    return maker.make(OperatorId::unsqueeze, {transposed}, {{"axes", Shape{0}}}, concat(part, name));
  };
  Direction result;
  result.input_weight = turned(cell.weight(prefix + "kernel", {features, columns}), "kernel");
  result.recurrent_weight =
      turned(cell.weight(prefix + "recurrent_kernel", {layer.hidden, columns}), "recurrent_kernel");
  if (!cell.flag("use_bias", true)) return result;
  // A GRU with the reset behind the product has a second bias there.
  const bool has_two = layer.row.op == OperatorId::gru && cell.flag("reset_after", false);
  const VariableId bias = cell.weight(prefix + "bias", has_two ? Shape{2, columns} : Shape{columns});
  result.bias = maker.reshape(bias, {1, -1}, concat(part, "bias"));
  return result;
}

std::int64_t features_of(const Call& call) {
  if (call.rank(call.input()) != 3) {
    call.fail(concat("its input has ", call.rank(call.input()), " dimensions, expected batch, steps, features"));
  }
  return call.known_size(call.input(), 2);
}

// The initial states: [batch, hidden] each, in the first argument's list or under their own name.
Variables initial_states(const Call& call) {
  const Argument* given = call.argument("initial_state", 1);
  Variables states = given == nullptr ? Variables{} : given->tensors;
  if (states.empty() && call.inputs().size() > 1) states.assign(call.inputs().begin() + 1, call.inputs().end());
  return states;
}

// Results of the operator: every step's state, the last state, the last cell.
Variables run(Call& call, OperatorId op, std::int64_t hidden, const char* direction, const Variables& weights,
              const Variables& states) {
  Variables inputs{call.input(), weights[0], weights[1], weights[2]};
  if (!states.empty()) {
    inputs.push_back(kAbsent);  // lengths of the sequences
    inputs.insert(inputs.end(), states.begin(), states.end());
  }
  const bool has_cell = op == OperatorId::lstm;
  return call.make_several(op, std::move(inputs), has_cell ? 3 : 2,
                           {{"layout", kBatchFirst}, {"hidden_size", hidden}, {"direction", direction}});
}

Variables with_states(Call& call, const Variables& made, VariableId result) {
  Variables results{result};
  if (!call.flag("return_state", false)) return results;
  for (std::size_t i = 1; i < made.size(); ++i) {
    results.push_back(call.make(OperatorId::squeeze, {made[i]}, {{"axes", Shape{1}}}, concat("state_", i)));
  }
  return results;
}

Variables recurrent(Call& call) {
  Layer layer = layer_of(call);
  const Direction weights = direction_of(call, layer, features_of(call), "");
  Variables states = initial_states(call);
  for (std::size_t i = 0; i < states.size(); ++i) {
    states[i] = call.make(OperatorId::unsqueeze, {states[i]}, {{"axes", Shape{1}}}, concat("initial_state_", i));
  }
  const Variables made = run(call, layer.row.op, layer.hidden, call.flag("go_backwards", false) ? "reverse" : "forward",
                             {weights.input_weight, weights.recurrent_weight, weights.bias}, states);
  const bool is_sequence = call.flag("return_sequences", false);
  const VariableId result = is_sequence ? call.make(OperatorId::squeeze, {made[0]}, {{"axes", Shape{2}}}, "sequence")
                                        : call.make(OperatorId::squeeze, {made[1]}, {{"axes", Shape{1}}}, "last");
  return with_states(call, made, result);
}

// How both directions become one result: [.., 2, hidden] at `axis`.
Variables merged(Call& call, VariableId both, std::int64_t axis, std::int64_t hidden) {
  if (call.config().find("merge_mode") != nullptr && !call.has("merge_mode")) {
    const Variables halves = call.make_several(OperatorId::split, {both}, 2, {{"axis", axis}}, "split");
    Variables results;
    for (const VariableId half : halves) {
      results.push_back(call.make(OperatorId::squeeze, {half}, {{"axes", Shape{axis}}}, "squeeze"));
    }
    return results;
  }
  struct Row {
    std::string_view mode;
    OperatorId op;
  };
  constexpr Row kRows[] = {{"concat", OperatorId::reshape},
                           {"sum", OperatorId::reduce_sum},
                           {"ave", OperatorId::reduce_mean},
                           {"mul", OperatorId::reduce_prod}};
  const std::string mode = call.text("merge_mode", "concat");
  std::vector<std::string> valid;
  for (const Row& row : kRows) {
    valid.emplace_back(row.mode);
    if (row.mode != mode) continue;
    if (row.op != OperatorId::reshape) {
      return {call.make(row.op, {both}, {{"axes", Shape{axis}}, {"keepdims", std::int64_t{0}}}, "merge")};
    }
    Shape target(static_cast<std::size_t>(axis), 0);
    target.push_back(2 * hidden);
    return {call.reshape(both, target, "merge")};
  }
  call.unknown_setting("merge_mode", mode, valid);
}

// One operator with both directions.
Variables bidirectional(Call& call) {
  const Json& forward_config = call.config().at("layer");
  const Json* backward_config = call.config().find("backward_layer");
  const bool has_backward = backward_config != nullptr && !backward_config->is_null();
  const std::int64_t features = features_of(call);
  Layer forward = layer_of(call.inner(forward_config, concat("forward_", name_of(forward_config))));
  // Keras 2 leaves out a backward layer that is like the forward one.
  Layer backward = layer_of(has_backward ? call.inner(*backward_config, concat("backward_", name_of(*backward_config)))
                                         : call.inner(forward_config, concat("backward_", name_of(forward_config))));
  if (forward.row.op != backward.row.op || forward.hidden != backward.hidden) {
    call.unsupported("its two directions differ in class or units, which is not read");
  }
  const Direction a = direction_of(call, forward, features, "forward_");
  const Direction b = direction_of(call, backward, features, "backward_", has_backward ? "" : "backward_");
  const auto paired = [&](VariableId one, VariableId two, const char* name) {
    return one == kAbsent ? kAbsent : call.make(OperatorId::concat, {one, two}, {{"axis", std::int64_t{0}}}, name);
  };
  Variables states = initial_states(call);
  const std::size_t num_states = forward.row.op == OperatorId::lstm ? 2 : 1;
  if (!states.empty() && states.size() != 2 * num_states) {
    call.fail(concat("is given ", states.size(), " initial states, expected ", 2 * num_states));
  }
  Variables initial;
  for (std::size_t i = 0; i < num_states && !states.empty(); ++i) {
    Variables pair;
    for (const VariableId state : {states[i], states[num_states + i]}) {
      pair.push_back(call.make(OperatorId::unsqueeze, {state}, {{"axes", Shape{1}}}, "initial_state"));
    }
    initial.push_back(call.make(OperatorId::concat, pair, {{"axis", std::int64_t{1}}}, "initial_states"));
  }
  const Variables weights{paired(a.input_weight, b.input_weight, "kernel"),
                          paired(a.recurrent_weight, b.recurrent_weight, "recurrent_kernel"),
                          paired(a.bias, b.bias, "bias")};
  const Variables made = run(call, forward.row.op, forward.hidden, "bidirectional", weights, initial);
  const bool is_sequence = forward.call.flag("return_sequences", false);
  Variables results = is_sequence ? merged(call, made[0], 2, forward.hidden) : merged(call, made[1], 1, forward.hidden);
  if (!forward.call.flag("return_state", false)) return results;
  std::vector<Variables> last;
  for (std::size_t i = 1; i < made.size(); ++i) {
    last.push_back(call.make_several(OperatorId::split, {made[i]}, 2, {{"axis", std::int64_t{1}}}, "last"));
  }
  for (std::size_t direction = 0; direction < 2; ++direction) {
    for (const Variables& pair : last) {
      results.push_back(call.make(OperatorId::squeeze, {pair[direction]}, {{"axes", Shape{1}}}, "state"));
    }
  }
  return results;
}

}  // namespace

const std::vector<LayerRow>& recurrent_layers() {
  static const std::vector<LayerRow> rows{
      {"LSTM", recurrent},     {"GRU", recurrent},       {"SimpleRNN", recurrent},         {"RNN", recurrent},
      {"CuDNNGRU", recurrent}, {"CuDNNLSTM", recurrent}, {"Bidirectional", bidirectional},
  };
  return rows;
}

}  // namespace latpred::readers::keras
