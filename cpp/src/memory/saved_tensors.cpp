#include "saved_tensors.h"

#include <algorithm>
#include <array>

#include "latpred/operators.h"
#include "operators/layout.h"

namespace latpred {
namespace {

// What an operator's derivative formula uses (PyTorch's derivatives.yaml, each row seen through
// torch.autograd.graph.saved_tensors_hooks).
enum class Saved : std::uint8_t {
  nothing,
  input,   // the first
  output,  // the first
  input_and_output,
  all_inputs,
  all_and_output,  // inputs and the first output
  factors,         // each factor where the other one's gradient is asked for
  quotient,        // the divisor; the dividend where the divisor's gradient is asked for
  power,           // the base; where the exponent is computed, the exponent and the result too
  indices,         // the second input
  second_output,
};

struct SavedRow {
  Saved saved;
  OperatorId op;
};

using Id = OperatorId;

constexpr SavedRow kSaved[]{
    {Saved::nothing, Id::neg},
    {Saved::nothing, Id::floor},
    {Saved::nothing, Id::ceil},
    {Saved::nothing, Id::round},
    {Saved::nothing, Id::sign},
    {Saved::nothing, Id::add},
    {Saved::nothing, Id::sub},
    {Saved::nothing, Id::mean},
    {Saved::nothing, Id::sum},
    {Saved::nothing, Id::bias_add},
    {Saved::nothing, Id::cast},
    {Saved::nothing, Id::cast_like},
    {Saved::nothing, Id::bit_cast},
    {Saved::nothing, Id::identity},
    {Saved::nothing, Id::dropout},
    {Saved::nothing, Id::global_average_pool},
    {Saved::nothing, Id::reduce_mean},
    {Saved::nothing, Id::reduce_sum},
    {Saved::nothing, Id::arg_max},
    {Saved::nothing, Id::arg_min},
    {Saved::nothing, Id::cum_sum},
    {Saved::nothing, Id::reshape},
    {Saved::nothing, Id::flatten},
    {Saved::nothing, Id::squeeze},
    {Saved::nothing, Id::unsqueeze},
    {Saved::nothing, Id::expand},
    {Saved::nothing, Id::transpose},
    {Saved::nothing, Id::depth_to_space},
    {Saved::nothing, Id::space_to_depth},
    {Saved::nothing, Id::tile},
    {Saved::nothing, Id::pad},
    {Saved::nothing, Id::trilu},
    {Saved::nothing, Id::roll},
    {Saved::nothing, Id::concat},
    {Saved::nothing, Id::split},
    {Saved::nothing, Id::slice},
    {Saved::nothing, Id::select},
    {Saved::nothing, Id::as_strided},
    {Saved::nothing, Id::sliding_window},
    {Saved::nothing, Id::flip},
    {Saved::nothing, Id::im2col},
    {Saved::nothing, Id::repeat_interleave},
    {Saved::nothing, Id::reduce_any},
    {Saved::nothing, Id::reduce_all},
    {Saved::nothing, Id::histogram},
    {Saved::nothing, Id::search_sorted},
    {Saved::nothing, Id::resize},
    {Saved::nothing, Id::upsample},
    {Saved::nothing, Id::equal},
    {Saved::nothing, Id::greater},
    {Saved::nothing, Id::greater_or_equal},
    {Saved::nothing, Id::less},
    {Saved::nothing, Id::less_or_equal},
    {Saved::nothing, Id::logical_not},
    {Saved::nothing, Id::logical_and},
    {Saved::nothing, Id::logical_or},
    {Saved::nothing, Id::logical_xor},
    {Saved::nothing, Id::shape},
    {Saved::nothing, Id::size},
    {Saved::nothing, Id::constant_of_shape},
    {Saved::nothing, Id::range},
    {Saved::nothing, Id::one_hot},
    {Saved::nothing, Id::non_zero},
    {Saved::output, Id::relu},
    {Saved::output, Id::sigmoid},
    {Saved::output, Id::tanh},
    {Saved::output, Id::exp},
    {Saved::output, Id::sqrt},
    {Saved::output, Id::rsqrt},
    {Saved::output, Id::reciprocal},
    {Saved::output, Id::softmax},
    {Saved::output, Id::log_softmax},
    {Saved::input_and_output, Id::reduce_max},
    {Saved::input_and_output, Id::reduce_min},
    {Saved::input_and_output, Id::reduce_prod},
    {Saved::input_and_output, Id::reduce_l2},
    {Saved::input_and_output, Id::reduce_log_sum_exp},
    {Saved::all_inputs, Id::max},
    {Saved::all_inputs, Id::min},
    {Saved::all_inputs, Id::lstm},
    {Saved::all_inputs, Id::gru},
    {Saved::all_inputs, Id::rnn},
    {Saved::all_inputs, Id::grid_sample},
    {Saved::all_inputs, Id::unknown},
    {Saved::all_inputs, Id::einsum},
    {Saved::all_inputs, Id::addcmul},
    {Saved::all_inputs, Id::lerp},
    {Saved::all_inputs, Id::atan2},
    {Saved::all_inputs, Id::squared_difference},
    {Saved::all_inputs, Id::embedding_bag},
    {Saved::all_and_output, Id::pairwise_distance},
    {Saved::all_and_output, Id::scaled_dot_product_attention},
    {Saved::all_and_output, Id::attention},
    {Saved::all_and_output, Id::multi_head_attention},
    {Saved::all_and_output, Id::group_query_attention},
    {Saved::all_and_output, Id::packed_attention},
    {Saved::factors, Id::mul},
    {Saved::factors, Id::matmul},
    {Saved::factors, Id::grouped_matmul},
    {Saved::factors, Id::linear},
    {Saved::factors, Id::gemm},
    {Saved::factors, Id::fused_matmul},
    {Saved::factors, Id::fused_gemm},
    {Saved::quotient, Id::div},
    {Saved::power, Id::pow},
    {Saved::indices, Id::gather},
    {Saved::indices, Id::gather_elements},
    {Saved::indices, Id::gather_nd},
    {Saved::indices, Id::embedding},
    {Saved::input, Id::where},  // the condition
    {Saved::second_output, Id::top_k},
    {Saved::second_output, Id::sort},
};

// Not in the table: the input, as nearly every point-wise operator, normalisation, pooling and convolution does.
constexpr std::array<Saved, kOperatorIdLimit> kSavedOf = [] {
  std::array<Saved, kOperatorIdLimit> saved{};
  saved.fill(Saved::input);
  for (const SavedRow& row : kSaved) saved[static_cast<std::size_t>(row.op)] = row.saved;
  return saved;
}();

void add_input(const EagerNode& eager, std::size_t index, std::vector<TensorId>& ids) {
  if (eager.has_input(index)) ids.push_back(eager.node.inputs[index]);
}

}  // namespace

std::vector<TensorId> saved_tensors(const EagerNode& eager) {
  std::vector<TensorId> ids;
  if (!eager.is_recorded()) return ids;
  const Node& node = eager.node;
  const auto add_output = [&](std::size_t index) {
    if (index < node.outputs.size() && node.outputs[index] != kAbsent) ids.push_back(node.outputs[index]);
  };
  switch (kSavedOf.at(static_cast<std::size_t>(node.op))) {
    case Saved::nothing:
      break;
    case Saved::input:
      // Spreading one mean over a window needs no input; other sizes go through a kernel that takes it.
      if (node.op == OperatorId::adaptive_average_pool &&
          channels_first(node.attributes, eager.output(0).shape).back() == 1) {
        break;
      }
      add_input(eager, 0, ids);
      break;
    case Saved::output:
      add_output(0);
      break;
    case Saved::input_and_output:
      add_input(eager, 0, ids);
      add_output(0);
      break;
    case Saved::all_inputs:
    case Saved::all_and_output:
      for (std::size_t i = 0; i < node.inputs.size(); ++i) add_input(eager, i, ids);
      if (kSavedOf[static_cast<std::size_t>(node.op)] == Saved::all_and_output) add_output(0);
      break;
    case Saved::factors:
      if (eager.asks_gradient(1)) add_input(eager, 0, ids);
      if (eager.asks_gradient(0)) add_input(eager, 1, ids);
      break;
    case Saved::quotient:
      if (eager.asks_gradient(1)) add_input(eager, 0, ids);
      add_input(eager, 1, ids);
      break;
    case Saved::power:
      add_input(eager, 0, ids);
      if (eager.has_input(1) && eager.input(1).kind != TensorKind::constant) {
        add_input(eager, 1, ids);
        add_output(0);
      }
      break;
    case Saved::indices:
      add_input(eager, 1, ids);
      break;
    case Saved::second_output:
      add_output(1);
      break;
  }
  return ids;
}

std::vector<bool> find_gradients(const Graph& graph) {
  std::vector<bool> found(graph.tensors.size());
  const auto is_real = [&](TensorId id) { return dtype_row(graph.tensors[id].dtype).is_floating; };
  for (std::size_t id = 0; id < found.size(); ++id) {
    found[id] = graph.tensors[id].kind == TensorKind::parameter && is_real(static_cast<TensorId>(id));
  }
  for (const Node& node : graph.nodes) {
    const bool from_parameter =
        std::any_of(node.inputs.begin(), node.inputs.end(), [&](TensorId id) { return id != kAbsent && found[id]; });
    if (!from_parameter) continue;
    for (const TensorId id : node.outputs) {
      if (id != kAbsent) found[id] = is_real(id);
    }
  }
  return found;
}

}  // namespace latpred
