// Operators that work on each element, reductions, comparisons and the like.

#include <cstdint>
#include <string>
#include <vector>

#include "latpred/dtype.h"
#include "latpred/text.h"
#include "readers/tflite/tflite_lowering.h"

namespace latpred::readers {
namespace {

using Settings = TfliteNode::Settings;
using Sizes = std::vector<std::int64_t>;

void one_input(TfliteNode& node, OperatorId op) { node.finish(op, {node.input(0)}); }
void two_inputs(TfliteNode& node, OperatorId op) { node.finish(op, {node.input(0), node.input(1)}); }

template <int kLow, int kHigh>
void clipped(TfliteNode& node, OperatorId op) {
  node.finish(op, {node.input(0)}, {{"min", double{kLow}}, {"max", double{kHigh}}});
}

void leaky_relu(TfliteNode& node, OperatorId op) {
  node.finish(op, {node.input(0)}, {{"alpha", static_cast<double>(node.option<float>(0, 0))}});
}

void gelu(TfliteNode& node, OperatorId op) {
  node.finish(op, {node.input(0)}, {{"approximate", std::string(node.flag(0) ? "tanh" : "none")}});
}

// Rounds to what a quantised tensor can hold, without changing its type.
void fake_quant(TfliteNode& node, OperatorId op) {
  node.finish(
      op, {node.input(0)},
      {{"min", static_cast<double>(node.option<float>(0, 0))}, {"max", static_cast<double>(node.option<float>(1, 0))}});
}

void square(TfliteNode& node, OperatorId op) { node.finish(op, {node.input(0), node.input(0)}); }

void not_equal(TfliteNode& node, OperatorId op) {
  node.finish(OperatorId::logical_not, {node.part(op, {node.input(0), node.input(1)})});
}

void floor_div(TfliteNode& node, OperatorId op) {
  node.finish(OperatorId::floor, {node.part(op, {node.input(0), node.input(1)})});
}

void right_shift(TfliteNode& node, OperatorId op) {
  node.finish(op, {node.input(0), node.input(1)}, {{"direction", std::string("RIGHT")}});
}

void cast(TfliteNode& node, OperatorId op) {
  node.finish(op, {node.input(0)}, {{"to", static_cast<std::int64_t>(node.output_dtype(0))}});
}

// Axes in input 1, numbers of the file or computed ones.
void reduce(TfliteNode& node, OperatorId op) {
  Settings settings{{"keepdims", std::int64_t{node.flag(0)}}};
  const auto axes = node.integers(1);
  // No axes at all: nothing is reduced, where ONNX would reduce everything.
  if (axes && axes->empty()) settings.emplace_back("noop_with_empty_axes", std::int64_t{1});
  if (axes) {
    settings.emplace_back("axes", *axes);
    return node.finish(op, {node.input(0)}, settings);
  }
  node.finish(op, {node.input(0), node.input(1)}, settings);
}

void arg_reduce(TfliteNode& node, OperatorId op) {
  const auto axis = node.integers(1);
  if (!axis || axis->size() != 1) node.fail("has an axis that is computed");
  node.finish(op, {node.input(0)}, {{"axis", axis->front()}, {"keepdims", std::int64_t{0}}});
}

void cum_sum(TfliteNode& node, OperatorId op) {
  node.finish(op, {node.input(0), node.input(1)},
              {{"exclusive", std::int64_t{node.flag(0)}}, {"reverse", std::int64_t{node.flag(1)}}});
}

void top_k(TfliteNode& node, OperatorId op) {
  node.finish(op, {node.input(0), node.input(1)}, {{"axis", std::int64_t{-1}}});
}

void select(TfliteNode& node, OperatorId op) {
  VariableId condition = node.input(0);
  const auto flags = node.shape(0);
  const auto values = node.shape(1);
  // The older form: one flag for each row.
  if (flags && values && flags->size() == 1 && values->size() > 1 && node.kind() == "SELECT") {
    Sizes axes;
    for (std::size_t i = 1; i < values->size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
    condition = node.part(OperatorId::unsqueeze, {condition}, {{"axes", axes}});
  }
  node.finish(op, {condition, node.input(1), node.input(2)});
}

// Where the true elements are: [number, rank], ONNX has it the other way round.
void where(TfliteNode& node, OperatorId op) {
  node.finish(OperatorId::transpose, {node.part(op, {node.input(0)})}, {{"perm", Sizes{1, 0}}});
}

// Inputs indices, depth, the value of the ones, of the others.
void one_hot(TfliteNode& node, OperatorId op) {
  node.finish(op, {node.input(0), node.input(1), node.input(2)},
              {{"axis", static_cast<std::int64_t>(node.option<std::int32_t>(0, 0))}});
}

void zeros_like(TfliteNode& node, OperatorId op) {
  node.finish(op, {node.part(OperatorId::shape, {node.input(0)})},
              {{"value_dtype", static_cast<std::int64_t>(node.output_dtype(0))}});
}

void random(TfliteNode& node, OperatorId op) {
  node.finish(op, {node.input(0)}, {{"dtype", static_cast<std::int64_t>(node.output_dtype(0))}});
}

// Inputs values; outputs the distinct ones and where each stands among them.
void unique(TfliteNode& node, OperatorId op) { node.finish_as(op, {node.input(0)}, {0, -1, 1}); }

}  // namespace

const std::vector<TfliteOperatorRow>& tflite_arithmetic() {
  static const std::vector<TfliteOperatorRow> rows{
      {0, "ADD", OperatorId::add, two_inputs, 0},
      {8, "FLOOR", OperatorId::floor, one_input},
      {14, "LOGISTIC", OperatorId::sigmoid, one_input},
      {18, "MUL", OperatorId::mul, two_inputs, 0},
      {19, "RELU", OperatorId::relu, one_input},
      {20, "RELU_N1_TO_1", OperatorId::clip, clipped<-1, 1>},
      {21, "RELU6", OperatorId::clip, clipped<0, 6>},
      {28, "TANH", OperatorId::tanh, one_input},
      {40, "MEAN", OperatorId::reduce_mean, reduce},
      {41, "SUB", OperatorId::sub, two_inputs, 0},
      {42, "DIV", OperatorId::div, two_inputs, 0},
      {47, "EXP", OperatorId::exp, one_input},
      {48, "TOPK_V2", OperatorId::top_k, top_k},
      {53, "CAST", OperatorId::cast, cast},
      {54, "PRELU", OperatorId::prelu, two_inputs},
      {55, "MAXIMUM", OperatorId::max, two_inputs},
      {56, "ARG_MAX", OperatorId::arg_max, arg_reduce},
      {57, "MINIMUM", OperatorId::min, two_inputs},
      {58, "LESS", OperatorId::less, two_inputs},
      {59, "NEG", OperatorId::neg, one_input},
      {61, "GREATER", OperatorId::greater, two_inputs},
      {62, "GREATER_EQUAL", OperatorId::greater_or_equal, two_inputs},
      {63, "LESS_EQUAL", OperatorId::less_or_equal, two_inputs},
      {64, "SELECT", OperatorId::where, select},
      {66, "SIN", OperatorId::sin, one_input},
      {71, "EQUAL", OperatorId::equal, two_inputs},
      {72, "NOT_EQUAL", OperatorId::equal, not_equal},
      {73, "LOG", OperatorId::log, one_input},
      {74, "SUM", OperatorId::reduce_sum, reduce},
      {75, "SQRT", OperatorId::sqrt, one_input},
      {76, "RSQRT", OperatorId::rsqrt, one_input},
      {78, "POW", OperatorId::pow, two_inputs},
      {79, "ARG_MIN", OperatorId::arg_min, arg_reduce},
      {80, "FAKE_QUANT", OperatorId::clip, fake_quant},
      {81, "REDUCE_PROD", OperatorId::reduce_prod, reduce},
      {82, "REDUCE_MAX", OperatorId::reduce_max, reduce},
      {84, "LOGICAL_OR", OperatorId::logical_or, two_inputs},
      {85, "ONE_HOT", OperatorId::one_hot, one_hot},
      {86, "LOGICAL_AND", OperatorId::logical_and, two_inputs},
      {87, "LOGICAL_NOT", OperatorId::logical_not, one_input},
      {89, "REDUCE_MIN", OperatorId::reduce_min, reduce},
      {90, "FLOOR_DIV", OperatorId::div, floor_div},
      {91, "REDUCE_ANY", OperatorId::reduce_any, reduce},
      {92, "SQUARE", OperatorId::mul, square},
      {93, "ZEROS_LIKE", OperatorId::constant_of_shape, zeros_like},
      {95, "FLOOR_MOD", OperatorId::mod, two_inputs},
      {98, "LEAKY_RELU", OperatorId::leaky_relu, leaky_relu},
      {99, "SQUARED_DIFFERENCE", OperatorId::squared_difference, two_inputs},
      {101, "ABS", OperatorId::abs, one_input},
      {103, "UNIQUE", OperatorId::unique, unique},
      {104, "CEIL", OperatorId::ceil, one_input},
      {106, "ADD_N", OperatorId::sum, lower_plain},
      {108, "COS", OperatorId::cos, one_input},
      {109, "WHERE", OperatorId::non_zero, where},
      {111, "ELU", OperatorId::elu, one_input},
      {116, "ROUND", OperatorId::round, one_input},
      {117, "HARD_SWISH", OperatorId::hard_swish, one_input},
      {123, "SELECT_V2", OperatorId::where, select},
      {128, "CUMSUM", OperatorId::cum_sum, cum_sum},
      {140, "REDUCE_ALL", OperatorId::reduce_all, reduce},
      {145, "BROADCAST_ARGS", OperatorId::max, two_inputs},
      {146, "RANDOM_STANDARD_NORMAL", OperatorId::random_normal, random},
      {148, "RANDOM_UNIFORM", OperatorId::random_uniform, random},
      {150, "GELU", OperatorId::gelu, gelu},
      {152, "RELU_0_TO_1", OperatorId::clip, clipped<0, 1>},
      {156, "ATAN2", OperatorId::atan2, two_inputs},
      {158, "SIGN", OperatorId::sign, one_input},
      {159, "BITCAST", OperatorId::bit_cast, cast},
      {160, "BITWISE_XOR", OperatorId::bitwise_xor, two_inputs},
      {161, "RIGHT_SHIFT", OperatorId::bit_shift, right_shift},
      {162, "STABLEHLO_LOGISTIC", OperatorId::sigmoid, one_input},
      {163, "STABLEHLO_ADD", OperatorId::add, two_inputs},
      {164, "STABLEHLO_DIVIDE", OperatorId::div, two_inputs},
      {165, "STABLEHLO_MULTIPLY", OperatorId::mul, two_inputs},
      {166, "STABLEHLO_MAXIMUM", OperatorId::max, two_inputs},
      {175, "STABLEHLO_ABS", OperatorId::abs, one_input},
      {176, "STABLEHLO_AND", OperatorId::bitwise_and, two_inputs},
      {177, "STABLEHLO_COSINE", OperatorId::cos, one_input},
      {178, "STABLEHLO_EXPONENTIAL", OperatorId::exp, one_input},
      {179, "STABLEHLO_FLOOR", OperatorId::floor, one_input},
      {180, "STABLEHLO_LOG", OperatorId::log, one_input},
      {181, "STABLEHLO_MINIMUM", OperatorId::min, two_inputs},
      {182, "STABLEHLO_NEGATE", OperatorId::neg, one_input},
      {184, "STABLEHLO_POWER", OperatorId::pow, two_inputs},
      {186, "STABLEHLO_RSQRT", OperatorId::rsqrt, one_input},
      {187, "STABLEHLO_SELECT", OperatorId::where, select},
      {188, "STABLEHLO_SUBTRACT", OperatorId::sub, two_inputs},
      {189, "STABLEHLO_TANH", OperatorId::tanh, one_input},
      {192, "STABLEHLO_CONVERT", OperatorId::cast, cast},
  };
  return rows;
}

}  // namespace latpred::readers
