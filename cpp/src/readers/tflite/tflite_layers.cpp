// Operators with weights, and what works on images and sequences as a whole.

#include <algorithm>
#include <cstdint>
#include <string>

#include "latpred/dtype.h"
#include "latpred/text.h"
#include "readers/tflite/tflite_lowering.h"

namespace latpred::readers {
namespace {

using Settings = TfliteNode::Settings;
using Sizes = std::vector<std::int64_t>;

std::string auto_pad(const TfliteNode& node, int field) {
  constexpr std::int8_t kSame = 0;
  return node.option<std::int8_t>(field, kSame) == kSame ? "SAME_UPPER" : "VALID";
}

Sizes option_sizes(const TfliteNode& node, std::initializer_list<int> fields) {
  Sizes sizes;
  for (const int field : fields) sizes.push_back(node.option<std::int32_t>(field, 1));
  return sizes;
}

// Size `axis` (from the back where negative) of input `index` as the file declares it; 0 where it does not.
std::int64_t size_at(const TfliteNode& node, std::size_t index, int axis) {
  const auto shape = node.shape(index);
  if (!shape) return 0;
  const auto rank = static_cast<int>(shape->size());
  const int at = axis < 0 ? axis + rank : axis;
  return at >= 0 && at < rank ? std::max<std::int64_t>(0, (*shape)[static_cast<std::size_t>(at)]) : 0;
}

// Input x, weight, bias where there is one.
std::vector<VariableId> with_bias(const TfliteNode& node, std::size_t x, std::size_t weight, std::size_t bias) {
  std::vector<VariableId> inputs{node.input(x), node.input(weight)};
  if (node.has_input(bias)) inputs.push_back(node.input(bias));
  return inputs;
}

// Weights [out, height, width, in / groups].
void conv_2d(TfliteNode& node, OperatorId op) {
  const std::int64_t channels = size_at(node, 0, -1);
  const std::int64_t per_group = size_at(node, 1, -1);
  const std::int64_t groups =
      per_group > 0 && channels % per_group == 0 ? std::max<std::int64_t>(1, channels / per_group) : 1;
  node.finish(op, with_bias(node, 0, 1, 2),
              {{"auto_pad", auto_pad(node, 0)},
               {"strides", option_sizes(node, {2, 1})},
               {"dilations", option_sizes(node, {5, 4})},
               {"group", groups},
               {"filter", "OHWI"},
               {"channels_last", std::int64_t{1}}});
}

// Weights [1, height, width, in * multiplier].
void depthwise_conv_2d(TfliteNode& node, OperatorId op) {
  node.finish(op, with_bias(node, 0, 1, 2),
              {{"auto_pad", auto_pad(node, 0)},
               {"strides", option_sizes(node, {2, 1})},
               {"dilations", option_sizes(node, {6, 5})},
               {"group", std::max<std::int64_t>(1, size_at(node, 0, -1))},
               {"filter", "1HWO"},
               {"channels_last", std::int64_t{1}}});
}

void conv_3d(TfliteNode& node, OperatorId op) {
  node.finish(op, with_bias(node, 0, 1, 2),
              {{"auto_pad", auto_pad(node, 0)},
               {"strides", option_sizes(node, {1, 3, 2})},
               {"dilations", option_sizes(node, {5, 7, 6})},
               {"filter", "HWIO"},
               {"channels_last", std::int64_t{1}}});
}

// Inputs the output's shape, weights, x, bias.
void transposed(TfliteNode& node, OperatorId op, Sizes strides, const std::string& filter) {
  Settings settings{
      {"auto_pad", auto_pad(node, 0)}, {"strides", strides}, {"filter", filter}, {"channels_last", std::int64_t{1}}};
  const auto shape = node.integers(0);
  if (shape && shape->size() == strides.size() + 2) {
    settings.emplace_back("output_shape", Sizes(shape->begin() + 1, shape->end() - 1));
  }
  node.finish(op, with_bias(node, 2, 1, 3), settings);
}

void transpose_conv(TfliteNode& node, OperatorId op) { transposed(node, op, option_sizes(node, {2, 1}), "OHWI"); }

void conv_3d_transpose(TfliteNode& node, OperatorId op) { transposed(node, op, option_sizes(node, {1, 3, 2}), "HWOI"); }

void pool(TfliteNode& node, OperatorId op) {
  node.finish(op, {node.input(0)},
              {{"auto_pad", auto_pad(node, 0)},
               {"strides", option_sizes(node, {2, 1})},
               {"kernel_shape", option_sizes(node, {4, 3})},
               {"channels_last", std::int64_t{1}}});
}

// Weights [out, in]. Unless `keep_num_dims` is set, all but the last size of the input are joined.
void fully_connected(TfliteNode& node, OperatorId op) {
  constexpr int kKeepNumDims = 2;
  std::vector<VariableId> inputs = with_bias(node, 0, 1, 2);
  const auto x = node.shape(0);
  const std::int64_t in = size_at(node, 1, -1);
  const bool is_matrix = x && x->size() == 2 && (x->back() == in || x->back() == kUnknownSize);
  if (!node.flag(kKeepNumDims) && !is_matrix && in > 0) {
    inputs[0] = node.part(OperatorId::reshape, {inputs[0]}, {{"shape", Sizes{-1, in}}});
  }
  node.finish(op, std::move(inputs));
}

void batch_matmul(TfliteNode& node, OperatorId op) {
  const bool adjoint_a = node.flag(0);
  const bool adjoint_b = node.flag(1);
  if (!adjoint_a && !adjoint_b) return node.finish(op, {node.input(0), node.input(1)});
  node.finish(OperatorId::fused_matmul, {node.input(0), node.input(1)},
              {{"transA", std::int64_t{adjoint_a}}, {"transB", std::int64_t{adjoint_b}}});
}

// Inputs indices, table.
void embedding_lookup(TfliteNode& node, OperatorId op) {
  const auto table = node.shape(1);
  if (table && table->size() == 2) return node.finish(op, {node.input(1), node.input(0)});
  node.finish(OperatorId::gather, {node.input(1), node.input(0)}, {{"axis", std::int64_t{0}}});
}

void over_last_axis(TfliteNode& node, OperatorId op) { node.finish(op, {node.input(0)}, {{"axis", std::int64_t{-1}}}); }

void local_response_normalization(TfliteNode& node, OperatorId op) {
  const auto radius = static_cast<std::int64_t>(node.option<std::int32_t>(0, 0));
  node.finish(op, {node.input(0)}, {{"size", 2 * radius + 1}, {"channels_last", std::int64_t{1}}});
}

// Input 1: height and width.
void resize_image(TfliteNode& node, OperatorId op, const std::string& mode) {
  node.finish(op, {node.input(0), kAbsent, kAbsent, node.input(1)},
              {{"mode", mode}, {"channels_last", std::int64_t{1}}});
}

void resize_bilinear(TfliteNode& node, OperatorId op) { resize_image(node, op, "linear"); }
void resize_nearest(TfliteNode& node, OperatorId op) { resize_image(node, op, "nearest"); }

void between_space_and_depth(TfliteNode& node, OperatorId op) {
  node.finish(
      op, {node.input(0)},
      {{"blocksize", static_cast<std::int64_t>(node.option<std::int32_t>(0, 0))}, {"channels_last", std::int64_t{1}}});
}

// The gates' matrices as ONNX has them, one below another: [1, gates * rows, columns].
VariableId stacked(TfliteNode& node, const std::vector<std::size_t>& gates) {
  std::vector<VariableId> parts;
  for (const std::size_t gate : gates) parts.push_back(node.input(gate));
  const VariableId whole =
      parts.size() == 1 ? parts[0] : node.part(OperatorId::concat, std::move(parts), {{"axis", std::int64_t{0}}});
  return node.part(OperatorId::unsqueeze, {whole}, {{"axes", Sizes{0}}});
}

// The result of a recurrent layer without its axis of directions.
void finish_recurrent(TfliteNode& node, OperatorId op, std::vector<VariableId> inputs, std::int64_t hidden,
                      bool is_time_major, bool has_time) {
  if (!has_time) inputs[0] = node.part(OperatorId::unsqueeze, {inputs[0]}, {{"axes", Sizes{1}}});
  const VariableId every =
      node.part(op, std::move(inputs), {{"hidden_size", hidden}, {"layout", std::int64_t{is_time_major ? 0 : 1}}});
  // Time first: [time, directions, batch, hidden]; batch first: [batch, time, directions, hidden].
  Sizes axes{is_time_major ? 1 : 2};
  if (!has_time) axes = {1, 2};
  node.finish_as(OperatorId::squeeze, {every}, {0}, {{"axes", axes}});
}

// Inputs x, four weights of the input (the first is left out where input and forget gate are coupled), four of the
// state, three peepholes, four biases, projection and its bias, both states, four of the layer norm.
void lstm(TfliteNode& node, OperatorId op, bool is_time_major, bool has_time) {
  constexpr std::size_t kLastInput = 4;
  constexpr std::size_t kLastState = 8;
  constexpr std::size_t kLastBias = 15;
  constexpr std::size_t kProjection = 16;
  // The state that a projection makes smaller is no LSTM that the table knows: its sizes are declared.
  if (node.num_inputs() <= kLastState || node.has_input(kProjection))
    return lower_as_declared(node, OperatorId::unknown);
  const std::size_t first = node.has_input(1) ? 0 : 1;  // of the four gates
  std::vector<std::size_t> inputs;
  std::vector<std::size_t> states;
  std::vector<std::size_t> biases;
  for (std::size_t gate = first; gate < 4; ++gate) {
    inputs.push_back(kLastInput - 3 + gate);
    states.push_back(kLastState - 3 + gate);
    biases.push_back(kLastBias - 3 + gate);
  }
  std::vector<VariableId> operands{node.input(0), stacked(node, inputs), stacked(node, states)};
  if (std::all_of(biases.begin(), biases.end(), [&](std::size_t bias) { return node.has_input(bias); })) {
    operands.push_back(stacked(node, biases));
  }
  // Coupled gates make three matrices, as a GRU has them.
  finish_recurrent(node, first == 0 ? op : OperatorId::gru, std::move(operands), size_at(node, kLastState, -1),
                   is_time_major, has_time);
}

void sequence_lstm(TfliteNode& node, OperatorId op) { lstm(node, op, node.flag(3), true); }

void lstm_step(TfliteNode& node, OperatorId op) {
  constexpr int kKernelType = 3;
  if (node.option<std::int8_t>(kKernelType, 0) != 0) return lower_as_declared(node, OperatorId::unknown);
  lstm(node, op, false, false);
}

// Inputs x, weights, weights of the state, bias, state.
void recurrent(TfliteNode& node, OperatorId op, bool is_time_major, bool has_time) {
  std::vector<VariableId> operands{node.input(0), stacked(node, {1}), stacked(node, {2}), stacked(node, {3})};
  finish_recurrent(node, op, std::move(operands), size_at(node, 2, -1), is_time_major, has_time);
}

void sequence_rnn(TfliteNode& node, OperatorId op) { recurrent(node, op, node.flag(0), true); }
void rnn_step(TfliteNode& node, OperatorId op) { recurrent(node, op, false, false); }

// A layer of rank-limited filters: inputs x [batch, in], feature filters [filters, in], time filters [filters, memory],
// bias, state. Each call makes one column of the memory; all of it is weighed and summed up, then the filters of one
// unit are.
void svdf(TfliteNode& node, OperatorId) {
  const std::int64_t rank = node.option<std::int32_t>(0, 0);
  const std::int64_t filters = size_at(node, 1, 0);
  if (rank < 1 || filters % rank != 0) node.fail(concat("has rank ", rank, " for ", filters, " filters"));
  const VariableId feature = node.part(OperatorId::linear, {node.input(0), node.input(1)});
  const VariableId column = node.part(OperatorId::unsqueeze, {feature}, {{"axes", Sizes{-1}}});
  const VariableId weighed = node.part(OperatorId::mul, {column, node.input(2)});
  const VariableId sums =
      node.part(OperatorId::reduce_sum, {weighed}, {{"axes", Sizes{-1}}, {"keepdims", std::int64_t{0}}});
  const VariableId ranks = node.part(OperatorId::reshape, {sums}, {{"shape", Sizes{-1, filters / rank, rank}}});
  const Settings last{{"axes", Sizes{-1}}, {"keepdims", std::int64_t{0}}};
  if (!node.has_input(3)) return node.finish(OperatorId::reduce_sum, {ranks}, last);
  const VariableId units = node.part(OperatorId::reduce_sum, {ranks}, last);
  node.finish(OperatorId::add, {units, node.input(3)});
}

// Scales and zero points stand beside the tensors, not in inputs; one number for all channels serves here, for what it
// costs is the same.
std::vector<VariableId> with_scale(TfliteNode& node, DType scale, DType zero_point) {
  return {node.input(0), node.assembly().scalar(concat(node.name(), "/scale"), scale, 1),
          node.assembly().scalar(concat(node.name(), "/zero_point"), zero_point, 0)};
}

void quantize(TfliteNode& node, OperatorId op) {
  node.finish(op, with_scale(node, DType::float32, node.output_dtype(0)));
}

void dequantize(TfliteNode& node, OperatorId op) {
  node.finish(op, with_scale(node, node.output_dtype(0), node.dtype(0)));
}

}  // namespace

const std::vector<TfliteOperatorRow>& tflite_layers() {
  static const std::vector<TfliteOperatorRow> rows{
      {1, "AVERAGE_POOL_2D", OperatorId::average_pool, pool, 5},
      {3, "CONV_2D", OperatorId::conv, conv_2d, 3},
      {4, "DEPTHWISE_CONV_2D", OperatorId::conv, depthwise_conv_2d, 4},
      {5, "DEPTH_TO_SPACE", OperatorId::depth_to_space, between_space_and_depth},
      {6, "DEQUANTIZE", OperatorId::dequantize_linear, dequantize},
      {7, "EMBEDDING_LOOKUP", OperatorId::embedding, embedding_lookup},
      {9, "FULLY_CONNECTED", OperatorId::linear, fully_connected, 0},
      {11, "L2_NORMALIZATION", OperatorId::lp_norm, over_last_axis, 0},
      {12, "L2_POOL_2D", OperatorId::lp_pool, pool, 5},
      {13, "LOCAL_RESPONSE_NORMALIZATION", OperatorId::lrn, local_response_normalization},
      {16, "LSTM", OperatorId::lstm, lstm_step},
      {17, "MAX_POOL_2D", OperatorId::max_pool, pool, 5},
      {23, "RESIZE_BILINEAR", OperatorId::resize, resize_bilinear},
      {24, "RNN", OperatorId::rnn, rnn_step},
      {25, "SOFTMAX", OperatorId::softmax, over_last_axis},
      {26, "SPACE_TO_DEPTH", OperatorId::space_to_depth, between_space_and_depth},
      {27, "SVDF", OperatorId::linear, svdf, 1},
      {35, "UNIDIRECTIONAL_SEQUENCE_RNN", OperatorId::rnn, sequence_rnn},
      {44, "UNIDIRECTIONAL_SEQUENCE_LSTM", OperatorId::lstm, sequence_lstm},
      {50, "LOG_SOFTMAX", OperatorId::log_softmax, over_last_axis},
      {67, "TRANSPOSE_CONV", OperatorId::conv_transpose, transpose_conv, 3},
      {97, "RESIZE_NEAREST_NEIGHBOR", OperatorId::resize, resize_nearest},
      {114, "QUANTIZE", OperatorId::quantize_linear, quantize},
      {126, "BATCH_MATMUL", OperatorId::matmul, batch_matmul},
      {132, "CONV_3D", OperatorId::conv, conv_3d, 4},
      {141, "CONV_3D_TRANSPOSE", OperatorId::conv_transpose, conv_3d_transpose, 4},
  };
  return rows;
}

}  // namespace latpred::readers
