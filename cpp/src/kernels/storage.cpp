#include "latpred/storage.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "kind_sets.h"
#include "latpred/autocast.h"

namespace latpred {
namespace {

// torch.autocast's list of operators that run in float32 whatever comes in; everything that is neither on it nor a
// product takes the widest type that it is given.
constexpr std::array kFloat32Operators{
    OperatorId::softmax,
    OperatorId::log_softmax,
    OperatorId::layer_norm,
    OperatorId::group_norm,
    OperatorId::exp,
    OperatorId::log,
    OperatorId::pow,
    OperatorId::reciprocal,
    OperatorId::softplus,
    OperatorId::cum_sum,
    OperatorId::cum_prod,
    OperatorId::reduce_sum,
    OperatorId::reduce_prod,
    OperatorId::reduce_l1,
    OperatorId::reduce_l2,
    OperatorId::acos,
    OperatorId::asin,
    OperatorId::cosh,
    OperatorId::sinh,
    OperatorId::tan,
    OperatorId::rsqrt,
    OperatorId::rms_norm,
    OperatorId::negative_log_likelihood_loss,
    OperatorId::softmax_cross_entropy_loss,
    OperatorId::reduce_log_sum_exp,
    OperatorId::resize,
    OperatorId::upsample,
};

// Of these, kernels that read half precision and compute in float32 without a copy of it (ATen: half_to_float of
// softmax, make_reduction_from_ty of sums).
constexpr std::array kReadHalf{OperatorId::softmax, OperatorId::log_softmax, OperatorId::reduce_sum,
                               OperatorId::reduce_prod};

// Norms that torch computes in the type of their activations, whatever type their weights have.
constexpr Kinds kMixedTypeNorms = of(CostKind::batch_norm, CostKind::layer_norm, CostKind::group_norm);

// A tensor that is not stored in float32 has chosen its units itself.
constexpr std::array<std::pair<DType, Arithmetic>, 4> kStoredArithmetic{{{DType::float16, Arithmetic::fp16},
                                                                         {DType::bfloat16, Arithmetic::bf16},
                                                                         {DType::int8, Arithmetic::int8},
                                                                         {DType::uint8, Arithmetic::int8}}};

std::optional<Arithmetic> stored_arithmetic(const Graph& graph, const Node& node) {
  for (const TensorId id : node.inputs) {
    if (id == kAbsent) continue;
    const DType dtype = graph.tensors[id].dtype;
    for (const auto& [stored, arithmetic] : kStoredArithmetic) {
      if (stored == dtype) return arithmetic;
    }
    if (dtype == DType::float32) return std::nullopt;
  }
  return std::nullopt;
}

void follow_autocast(const Graph& graph, const std::vector<CostKind>& kinds, Storage& storage) {
  for (std::size_t position = 0; position < graph.nodes.size(); ++position) {
    const Node& node = graph.nodes[position];
    const bool is_norm = has(kMixedTypeNorms, kinds[position]);
    const bool is_taken_out = node.attributes.text(kAutocast, "") == kAutocastHalf;
    const bool to_half = is_taken_out || has(kLibraries, kinds[position]);
    const bool to_single = !to_half && std::ranges::find(kFloat32Operators, node.op) != kFloat32Operators.end();
    const bool copies_to_single = to_single && std::ranges::find(kReadHalf, node.op) == kReadHalf.end();
    int widest = 0;
    int widest_scalar = 0;
    for (const TensorId id : node.inputs) {
      if (id == kAbsent || graph.tensors[id].dtype != DType::float32) continue;
      // PyTorch's type promotion: x * gamma is as wide as gamma, a number without dimensions widens nothing, and norms
      // take their float32 weights beside half activations.
      if (!(is_norm && graph.tensors[id].is_weight())) {
        int& wide = graph.tensors[id].shape.empty() ? widest_scalar : widest;
        wide = std::max(wide, storage.tensor_bits[id]);
      }
      if (graph.tensors[id].shape.empty()) continue;
      const int wanted = to_half ? kHalfBits : copies_to_single ? kSingleBits : storage.tensor_bits[id];
      if (storage.tensor_bits[id] != wanted && !(to_single && graph.tensors[id].is_weight())) {
        storage.casts[position].push_back(id);
      }
    }
    if (widest == 0) widest = widest_scalar;
    int result = to_half ? kHalfBits : to_single || widest == 0 ? kSingleBits : widest;
    if (is_in_place(node.source_operator) && !node.inputs.empty() && node.inputs[0] != kAbsent) {
      result = storage.tensor_bits[node.inputs[0]];
    }
    for (const TensorId id : node.outputs) {
      if (id != kAbsent && graph.tensors[id].dtype == DType::float32) storage.tensor_bits[id] = result;
    }
  }
}

}  // namespace

int bits_after_cast(int bits) { return bits > kHalfBits ? kHalfBits : kSingleBits; }

int bits_read(const Storage& storage, NodeId position, TensorId id) {
  const std::vector<TensorId>& casts = storage.casts[position];
  const int bits = storage.tensor_bits[id];
  return std::ranges::find(casts, id) == casts.end() ? bits : bits_after_cast(bits);
}

bool is_narrowed(const Storage& storage, NodeId position, TensorId id) {
  return bits_read(storage, position, id) < storage.tensor_bits[id];
}

Storage assign_storage(const Graph& graph, const std::vector<CostKind>& kinds, const Runtime& runtime,
                       const Precision& precision) {
  Storage storage;
  storage.tensor_bits.reserve(graph.tensors.size());
  for (const Tensor& tensor : graph.tensors) {
    const bool follows_precision = tensor.dtype == DType::float32;
    storage.tensor_bits.push_back(!follows_precision   ? dtype_row(tensor.dtype).size_bits
                                  : tensor.is_weight() ? precision.weight_bits
                                                       : precision.activation_bits);
  }
  const Arithmetic convolution = precision.by_runtime ? runtime.default_convolution : precision.convolution;
  const Arithmetic product = precision.by_runtime ? runtime.default_matmul : precision.matmul;
  storage.arithmetic.reserve(graph.nodes.size());
  storage.casts.resize(graph.nodes.size());
  if (precision.autocast) follow_autocast(graph, kinds, storage);
  for (std::size_t position = 0; position < graph.nodes.size(); ++position) {
    const Node& node = graph.nodes[position];
    if (has(kLibraries, kinds[position])) {
      const Arithmetic asked = has(kConvolutions, kinds[position]) ? convolution : product;
      storage.arithmetic.push_back(stored_arithmetic(graph, node).value_or(asked));
      continue;
    }
    // Everything else runs on the general units, in half precision where its output is.
    int bits = kSingleBits;
    for (const TensorId id : node.outputs) {
      if (id != kAbsent) bits = storage.tensor_bits[id];
    }
    const Arithmetic half = precision.convolution == Arithmetic::bf16 ? Arithmetic::bf16 : Arithmetic::fp16;
    storage.arithmetic.push_back(bits == kHalfBits ? stored_arithmetic(graph, node).value_or(half) : Arithmetic::fp32);
  }
  return storage;
}

}  // namespace latpred
