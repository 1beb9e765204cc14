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

// Of these, kernels that read half precision and compute in float32 without a copy of it, as autocast asks for the type
// of their result instead of casting (AT_FORALL_FP32_SET_OPT_DTYPE; cumulative sums copy in spite of it).
constexpr std::array kReadHalf{OperatorId::softmax,     OperatorId::log_softmax, OperatorId::reduce_sum,
                               OperatorId::reduce_prod, OperatorId::reduce_l1,   OperatorId::reduce_l2};

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

// What a tensor is made of, as far as conversions in the network's code ask.
struct Origin {
  bool of_weight = false;  // a weight, or seen through views of one
  bool is_raised = false;  // of something that was half precision and was converted to single
  bool is_asked = false;   // so converted, and only seen another way or multiplied since
};

// The conversions in a network's code, of which a record in float32 does not say to which type they go. They change
// something: what is half precision becomes single, and half again what was raised before; weights become as the
// activations are. The record has one name for x and for x.float(): the first that reads it is taken to ask for it, and
// all that only see it another way.
class Conversions {
 public:
  Conversions(const Graph& graph, const std::vector<CostKind>& kinds)
      : graph_(graph), kinds_(kinds), origins_(graph.tensors.size()), was_raised_(graph.tensors.size(), false) {
    for (std::size_t id = 0; id < origins_.size(); ++id) origins_[id].of_weight = graph.tensors[id].is_weight();
  }

  // Bits of each input of `node` as its code hands them on.
  [[nodiscard]] std::vector<int> given(NodeId position, const Storage& storage) {
    const Node& node = graph_.nodes[position];
    const bool is_view = kinds_[position] == CostKind::view;
    std::vector<int> result(node.inputs.size(), 0);
    for (std::size_t place = 0; place < node.inputs.size(); ++place) {
      const TensorId id = node.inputs[place];
      if (id == kAbsent) continue;
      result[place] = storage.tensor_bits[id];
      if (!converts(node, place)) continue;
      if (storage.tensor_bits[id] == kHalfBits) {
        if (is_view || !was_raised_[id]) result[place] = kSingleBits;
        was_raised_[id] = was_raised_[id] || !is_view;
      } else if (origins_[id].of_weight || origins_[id].is_raised) {
        result[place] = kHalfBits;
      }
    }
    return result;
  }

  // Whether a product of these is outside autocast: nobody raises what is cast back at once.
  [[nodiscard]] bool asks_for_single(const Node& node, const Storage& storage, const std::vector<int>& given) const {
    return any_input(node, [&](std::size_t place, const Origin& origin) {
      return given[place] == kSingleBits && (origin.is_asked || is_raised_here(node, storage, given, place));
    });
  }

  void follow(NodeId position, const Storage& storage, const std::vector<int>& given, bool is_single_product) {
    const Node& node = graph_.nodes[position];
    Origin made{.is_asked = is_single_product};
    made.is_raised = any_input(node, [&](std::size_t place, const Origin& origin) {
      return given[place] == kSingleBits && (origin.is_raised || is_raised_here(node, storage, given, place));
    });
    if (kinds_[position] == CostKind::view && !node.inputs.empty() && node.inputs[0] != kAbsent) {
      const Origin& from = origins_[node.inputs[0]];
      made.of_weight = from.of_weight;
      made.is_asked = from.is_asked || is_raised_here(node, storage, given, 0);
    }
    for (const TensorId id : node.outputs) {
      if (id != kAbsent && storage.tensor_bits[id] == kSingleBits) origins_[id] = made;
    }
  }

 private:
  template <typename Holds>
  bool any_input(const Node& node, Holds holds) const {
    for (std::size_t place = 0; place < node.inputs.size(); ++place) {
      if (node.inputs[place] != kAbsent && holds(place, origins_[node.inputs[place]])) return true;
    }
    return false;
  }

  static bool is_raised_here(const Node& node, const Storage& storage, const std::vector<int>& given,
                             std::size_t place) {
    return storage.tensor_bits[node.inputs[place]] == kHalfBits && given[place] == kSingleBits;
  }

  const Graph& graph_;
  const std::vector<CostKind>& kinds_;
  std::vector<Origin> origins_;   // [tensors]
  std::vector<bool> was_raised_;  // [tensors]
};

// Returns which nodes are products in single precision.
std::vector<bool> follow_autocast(const Graph& graph, const std::vector<CostKind>& kinds, Storage& storage) {
  Conversions conversions(graph, kinds);
  std::vector<bool> single_products(graph.nodes.size(), false);
  for (std::size_t position = 0; position < graph.nodes.size(); ++position) {
    const Node& node = graph.nodes[position];
    const std::vector<int> given = conversions.given(static_cast<NodeId>(position), storage);
    const bool is_norm = has(kMixedTypeNorms, kinds[position]);
    const bool is_taken_out = node.attributes.text(kAutocast, "") == kAutocastHalf;
    const bool is_product = has(kLibraries, kinds[position]);
    const bool is_single_product = is_product && conversions.asks_for_single(node, storage, given);
    const bool to_half = is_taken_out || (is_product && !is_single_product);
    const bool is_listed = std::ranges::find(kFloat32Operators, node.op) != kFloat32Operators.end();
    const bool to_single = is_single_product || (!to_half && is_listed);
    const bool copies_to_single = to_single && std::ranges::find(kReadHalf, node.op) == kReadHalf.end();
    int widest = 0;
    int widest_scalar = 0;
    for (std::size_t place = 0; place < node.inputs.size(); ++place) {
      const TensorId id = node.inputs[place];
      if (id == kAbsent || graph.tensors[id].dtype != DType::float32) continue;
      // PyTorch's type promotion: x * gamma is as wide as gamma, a number without dimensions widens nothing, and norms
      // take their float32 weights beside half activations.
      if (!(is_norm && graph.tensors[id].is_weight())) {
        int& wide = graph.tensors[id].shape.empty() ? widest_scalar : widest;
        wide = std::max(wide, given[place]);
      }
      if (graph.tensors[id].shape.empty()) continue;
      const int wanted = to_half ? kHalfBits : copies_to_single ? kSingleBits : given[place];
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
    conversions.follow(static_cast<NodeId>(position), storage, given, is_single_product);
    single_products[position] = is_single_product;
  }
  return single_products;
}

}  // namespace

bool converts(const Node& node, std::size_t place) {
  if (!node.attributes.has(kConverts)) return false;
  const std::vector<std::int64_t> places = node.attributes.integers(kConverts);
  return std::ranges::find(places, static_cast<std::int64_t>(place)) != places.end();
}

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
  std::vector<bool> single_products(graph.nodes.size(), false);
  storage.arithmetic.reserve(graph.nodes.size());
  storage.casts.resize(graph.nodes.size());
  if (precision.autocast) single_products = follow_autocast(graph, kinds, storage);
  for (std::size_t position = 0; position < graph.nodes.size(); ++position) {
    const Node& node = graph.nodes[position];
    if (has(kLibraries, kinds[position])) {
      const bool is_convolution = has(kConvolutions, kinds[position]);
      const Arithmetic in_single = is_convolution ? runtime.default_convolution : runtime.default_matmul;
      const Arithmetic asked = single_products[position] ? in_single : is_convolution ? convolution : product;
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
