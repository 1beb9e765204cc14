#include "composed_attention.h"

#include <algorithm>
#include <array>
#include <utility>

#include "latpred/storage.h"
#include "latpred/text.h"
#include "operators/attention_sizes.h"
#include "operators/products.h"
#include "strided_inputs.h"

namespace latpred {
namespace {

constexpr std::size_t kFusedAttentionRank = 4;
constexpr double kSingleBytes = 4;
constexpr double kBoolBytes = 1;

class Composer {
 public:
  Composer(const Graph& graph, const Node& node, const Runtime& runtime, const ComposedAttention& attention)
      : node_(node), is_generated_(runtime.fuses_shared), attention_(attention), sizes_(gemm_of(graph, node)) {
    num_scores_ = sizes_.batch * sizes_.m * sizes_.n;
    for (std::size_t i = 0; i < operands_.size(); ++i) operands_[i] = count_of(input_tensor(graph, node, i));
    num_results_ = count_of(output_tensor(graph, node, 0));
    const double value_size = num_results_ / std::max(1.0, sizes_.batch * sizes_.m);
    spread_ = {operands_[0], std::max(operands_[1], sizes_.batch * sizes_.n * sizes_.k),
               std::max(operands_[2], sizes_.batch * sizes_.n * value_size)};
    has_mask_ = attention_sizes(node.op, node.source_operator, node.attributes, input_shapes(graph, node)).has_mask ||
                node.attributes.integer("is_causal", 0) != 0;
    if (const Tensor* mask = input_tensor(graph, node, 3)) mask_bytes_ = count_of(mask) * kSingleBytes;
  }

  std::vector<Kernel> run(NodeId position) && {
    const std::array copies{attention_.copies_query, attention_.copies_key, attention_.copies_value};
    prepare("query", 0, true, copies[0]);
    prepare("key", 1, true, copies[1]);
    multiply(position);
    if (has_mask_ && !is_generated_)
      add("mask", CostKind::binary, num_scores_ * kSingleBytes + mask_bytes_, scores_bytes());
    normalise();
    prepare("value", 2, false, copies[2]);
    combine();
    if (is_half()) add("result", CostKind::cast, num_results_ * kSingleBytes, num_results_ * given_bytes());
    return std::move(rows_);
  }

 private:
  static double count_of(const Tensor* tensor) {
    return tensor == nullptr ? 0 : static_cast<double>(tensor->num_elements());
  }
  [[nodiscard]] bool is_half() const { return attention_.activation_bits < kSingleBits; }
  [[nodiscard]] double given_bytes() const { return attention_.activation_bits / kBitsPerByte; }
  [[nodiscard]] double scores_bytes() const { return num_scores_ * kSingleBytes; }

  Kernel& add(std::string_view what, CostKind kind, double bytes_in, double bytes_out) {
    Kernel row{.name = concat(node_.name, ".", what), .kind = kind};
    row.repeat = node_.repeat;
    row.bytes_in = bytes_in;
    row.bytes_out = bytes_out;
    if (kind != CostKind::copy) row.flops = bytes_out / kSingleBytes;
    return rows_.emplace_back(std::move(row));
  }

  // An operand on its way into a product: widened, scaled, and copied where its batch is not one dimension in memory.
  void prepare(std::string_view what, std::size_t index, bool is_scaled, bool copies) {
    const double count = operands_[index];
    const double wide = count * kSingleBytes;
    const bool is_copied = copies || spread_[index] > count;
    if (is_generated_) {
      if (is_half() || is_scaled || is_copied) {
        add(what, CostKind::binary, count * given_bytes(), spread_[index] * kSingleBytes);
      }
      return;
    }
    if (is_half()) add(concat(what, ".cast"), CostKind::cast, count * given_bytes(), wide);
    if (is_scaled) add(concat(what, ".scale"), CostKind::binary, wide, wide);
    if (is_copied) add(concat(what, ".copy"), CostKind::copy, wide, spread_[index] * kSingleBytes);
  }

  void product(std::string_view what, double m, double n, double k, double macs, double bytes_in, double bytes_out) {
    Kernel& row = add(what, CostKind::batch_matmul, bytes_in, bytes_out);
    row.gemm_batch = sizes_.batch;
    row.m = m;
    row.n = n;
    row.k = k;
    row.macs = macs;
    row.flops = 2 * macs;
  }

  void multiply(NodeId position) {
    first_macs_ = std::min(static_cast<double>(node_.cost.macs), num_scores_ * sizes_.k);
    product("scores", sizes_.m, sizes_.n, sizes_.k, first_macs_, (spread_[0] + spread_[1]) * kSingleBytes,
            scores_bytes());
    rows_.back().name = node_.name;
    rows_.back().members.push_back(position);
  }

  // Softmax, and zeros for the rows that a mask hides whole: looked for whether there is a mask or not.
  void normalise() {
    Kernel& softmax =
        add("softmax", CostKind::softmax, scores_bytes() + (is_generated_ ? mask_bytes_ : 0), scores_bytes());
    softmax.row = sizes_.n;
    softmax.flops = std::max(0.0, static_cast<double>(node_.cost.flops) - 2 * static_cast<double>(node_.cost.macs));
    if (is_generated_) return;
    add("softmax.hidden", CostKind::unary, scores_bytes(), num_scores_ * kBoolBytes);
    add("softmax.all", CostKind::reduce, num_scores_ * kBoolBytes, num_scores_ / std::max(1.0, sizes_.n)).row =
        sizes_.n;
    add("softmax.where", CostKind::binary, scores_bytes(), scores_bytes());
    // The weights are a result too, though nobody reads them.
    if (is_half()) add("softmax.cast", CostKind::cast, scores_bytes(), num_scores_ * given_bytes());
  }

  void combine() {
    const double rows = std::max(1.0, sizes_.batch * sizes_.m);
    product("result", sizes_.m, num_results_ / rows, sizes_.n, static_cast<double>(node_.cost.macs) - first_macs_,
            scores_bytes() + spread_[2] * kSingleBytes, num_results_ * kSingleBytes);
  }

  const Node& node_;
  bool is_generated_;  // by a compiler, which keeps point-wise steps together
  ComposedAttention attention_;
  Gemm sizes_;                        // of the scores
  std::array<double, 3> operands_{};  // elements of query, key and value
  std::array<double, 3> spread_{};    // with heads that all share written out for each: a product needs them
  double num_scores_ = 0;
  double num_results_ = 0;
  double mask_bytes_ = 0;
  double first_macs_ = 0;
  bool has_mask_ = false;
  std::vector<Kernel> rows_;
};

}  // namespace

bool is_composed(const Graph& graph, const Node& node) {
  const Tensor* query = input_tensor(graph, node, 0);
  if (!node.source_operator.starts_with("aten.") || query == nullptr) return false;
  if (query->shape.size() != kFusedAttentionRank) return true;
  if (node.attributes.integer("enable_gqa", 0) != 0) return false;
  const auto is_spread = [&](const Tensor* tensor) {
    return tensor != nullptr && (tensor->shape.size() != kFusedAttentionRank || tensor->shape[0] != query->shape[0] ||
                                 tensor->shape[1] != query->shape[1]);
  };
  return is_spread(input_tensor(graph, node, 1)) || is_spread(input_tensor(graph, node, 2));
}

ComposedAttention composed_of(const Graph& graph, const Node& node, const std::vector<Shape>& strides,
                              int activation_bits) {
  const auto is_copied = [&](std::size_t index) {
    const TensorId id = node.inputs[index];
    return is_copied_for_product(graph.tensors[id].shape, strides[id]);
  };
  return {.activation_bits = activation_bits,
          .copies_query = is_copied(0),
          .copies_key = is_copied(1),
          .copies_value = is_copied(2)};
}

std::vector<Kernel> compose_attention(const Graph& graph, NodeId position, const Runtime& runtime,
                                      const ComposedAttention& attention) {
  return Composer(graph, graph.nodes[position], runtime, attention).run(position);
}

}  // namespace latpred
