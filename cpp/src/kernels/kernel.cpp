#include "latpred/kernel.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "composed_attention.h"
#include "fusion_rules.h"
#include "latpred/program.h"
#include "latpred/runtime.h"
#include "latpred/text.h"
#include "operators/attention_sizes.h"
#include "operators/layout.h"
#include "operators/products.h"
#include "strided_inputs.h"
#include "strides.h"

namespace latpred {
namespace {

constexpr double kBitsPerByte = 8;

constexpr std::array kImageKinds{CostKind::conv,           CostKind::conv_1x1, CostKind::conv_grouped,
                                 CostKind::conv_depthwise, CostKind::pool,     CostKind::resize};
constexpr std::array kRowKinds{CostKind::layer_norm, CostKind::softmax, CostKind::reduce};

constexpr std::array kLibraryKinds{CostKind::conv,           CostKind::conv_1x1, CostKind::conv_grouped,
                                   CostKind::conv_depthwise, CostKind::matmul,   CostKind::batch_matmul,
                                   CostKind::attention,      CostKind::recurrent};

template <std::size_t size>
bool is_one_of(const std::array<CostKind, size>& kinds, CostKind kind) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

double product(const Shape& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), 1.0,
                         [](double sum, std::int64_t size) { return sum * static_cast<double>(size); });
}

double stored_bytes(const Graph& graph, const Storage& storage, TensorId id) {
  return static_cast<double>(graph.tensors[id].num_elements()) * storage.tensor_bits[id] / kBitsPerByte;
}

bool is_generated(CostKind kind) { return !is_one_of(kLibraryKinds, kind); }

// Makes the rows for one graph; its members are what the steps share.
class Fuser {
 public:
  Fuser(const Graph& graph, const Runtime& runtime, const Precision& precision, bool channels_last)
      : graph_(graph), runtime_(runtime), precision_(precision), inputs_channels_last_(channels_last) {}

  Kernels run() {
    prepare();
    for (NodeId position = 0; position < static_cast<NodeId>(graph_.nodes.size()); ++position) {
      if (result_.views.is_view[position]) {
        pass_through(position);
        continue;
      }
      add_casts(position);
      if (kinds_[position] == CostKind::attention && runtime_.strided_views &&
          is_composed(graph_, graph_.nodes[position])) {
        add_composed(position);
        continue;
      }
      if (follows_strides()) add_copies(position);
      const std::int64_t row = join_row(position);
      add_node(row, position);
      if (follows_strides()) add_bias(position);
    }
    for (Kernel& kernel : result_.rows) result_.num_launches += kernel.repeat;
    return std::move(result_);
  }

 private:
  [[nodiscard]] const Storage& storage() const { return result_.storage; }

  void prepare() {
    result_.runtime = runtime_.name;
    result_.precision = precision_.name;
    kinds_.reserve(graph_.nodes.size());
    for (const Node& node : graph_.nodes) kinds_.push_back(cost_kind(graph_, node));
    result_.storage = assign_storage(graph_, kinds_, runtime_, precision_);
    result_.views = runtime_.strided_views ? find_views(graph_, inputs_channels_last_) : find_plain_views(graph_);
    // Other frameworks' files say in which order an image stands, and cost the same in both.
    if (runtime_.strided_views && (is_of_pytorch() || inputs_channels_last_)) find_channels_last();
    row_of_.assign(graph_.tensors.size(), -1);
    producer_row_.assign(graph_.tensors.size(), -1);
    num_readers_.assign(graph_.tensors.size(), 0);
    cast_done_.assign(graph_.tensors.size(), false);
    for (const Node& node : graph_.nodes) {
      for (const TensorId id : node.inputs) {
        if (id != kAbsent) ++num_readers_[id];
      }
    }
    for (const TensorId id : graph_.outputs) ++num_readers_[id];
    count_readers_of_memory();
  }

  void find_channels_last() {
    channels_last_.resize(graph_.tensors.size());
    for (std::size_t id = 0; id < graph_.tensors.size(); ++id) {
      const Tensor& tensor = graph_.tensors[id];
      channels_last_[id] = !tensor.is_weight() && is_channels_last(tensor.shape, result_.views.strides[id]);
    }
  }

  // Views read nothing: who reads a view reads the memory that it looks at.
  void count_readers_of_memory() {
    num_outside_.assign(graph_.tensors.size(), 0);
    for (NodeId position = 0; position < static_cast<NodeId>(graph_.nodes.size()); ++position) {
      if (result_.views.is_view[position]) continue;
      for (const TensorId id : graph_.nodes[position].inputs) {
        if (id != kAbsent) ++num_outside_[result_.views.base[id]];
      }
    }
    for (const TensorId id : graph_.outputs) ++num_outside_[result_.views.base[id]];
  }

  [[nodiscard]] bool is_of_pytorch() const {
    return graph_.program != nullptr && graph_.program->source.framework == "pytorch";
  }

  // A view hands its producer's row on, so that a chain can be fused through it.
  void pass_through(NodeId position) {
    const Node& node = graph_.nodes[position];
    if (node.inputs.empty() || node.inputs[0] == kAbsent) return;
    const TensorId from = node.inputs[0];
    for (const TensorId id : node.outputs) {
      if (id == kAbsent) continue;
      const bool is_whole = (num_readers_[from] == 1 && node.outputs.size() == 1) || runtime_.fuses_shared;
      row_of_[id] = is_whole ? row_of_[from] : -1;
      producer_row_[id] = producer_row_[from];
    }
  }

  void add_casts(NodeId position) {
    for (const TensorId id : storage().casts[position]) {
      if (cast_done_[id]) continue;  // autocast keeps the copy of a weight; an activation's is rarely asked for twice
      cast_done_[id] = true;
      if (runtime_.fuses_shared && !graph_.tensors[id].is_weight() && folds_cast(position, id)) continue;
      const auto count = static_cast<double>(graph_.tensors[id].num_elements());
      Kernel cast{.name = concat("cast(", graph_.tensors[id].name, ")"), .kind = CostKind::cast};
      cast.arithmetic = Arithmetic::fp32;
      cast.repeat = graph_.nodes[position].repeat;
      cast.flops = count;
      const double read = stored_bytes(graph_, storage(), id);
      (graph_.tensors[id].is_weight() ? cast.weight_bytes : cast.bytes_in) = read;
      cast.bytes_out = count * bits_after_cast(storage().tensor_bits[id]) / kBitsPerByte;
      result_.rows.push_back(std::move(cast));
    }
  }

  // Eager PyTorch alone: a code generator reads what it needs where it lies.
  [[nodiscard]] bool follows_strides() const {
    return runtime_.strided_views && !runtime_.fuses_shared && is_of_pytorch();
  }

  void add_copies(NodeId position) {
    const Node& node = graph_.nodes[position];
    const bool is_narrowed = node.inputs.size() > 1 && node.inputs[1] != kAbsent &&
                             bits_read(position, node.inputs[1]) != storage().tensor_bits[node.inputs[1]];
    for (const TensorId id : copied_inputs(graph_, node, kinds_[position], result_.views.strides,
                                           {.channels_last = inputs_channels_last_, .narrowed = is_narrowed})) {
      const double bytes =
          static_cast<double>(graph_.tensors[id].num_elements()) * bits_read(position, id) / kBitsPerByte;
      Kernel copy{.name = concat("copy(", graph_.tensors[id].name, ")"), .kind = CostKind::copy};
      copy.arithmetic = storage().arithmetic[position];
      copy.repeat = node.repeat;
      copy.bytes_in = bytes;
      copy.bytes_out = bytes;
      result_.rows.push_back(std::move(copy));
    }
  }

  void add_bias(NodeId position) {
    const Node& node = graph_.nodes[position];
    if (!adds_bias_apart(graph_, node, result_.views.strides)) return;
    const double bytes = stored_bytes(graph_, storage(), node.outputs[0]);
    Kernel bias{.name = concat(node.name, ".bias"), .kind = CostKind::binary};
    bias.arithmetic = storage().arithmetic[position];
    bias.repeat = node.repeat;
    bias.flops = static_cast<double>(graph_.tensors[node.outputs[0]].num_elements());
    bias.bytes_in = bytes;
    bias.bytes_out = bytes;
    result_.rows.push_back(std::move(bias));
  }

  void add_composed(NodeId position) {
    const Node& node = graph_.nodes[position];
    const std::vector<Shape>& strides = result_.views.strides;
    const auto is_copied = [&](std::size_t index) {
      const TensorId id = node.inputs[index];
      return is_copied_for_product(graph_.tensors[id].shape, strides[id]);
    };
    const ComposedAttention attention{.activation_bits = bits_read(position, node.inputs[0]),
                                      .copies_query = is_copied(0),
                                      .copies_key = is_copied(1),
                                      .copies_value = is_copied(2)};
    for (Kernel& row : compose_attention(graph_, position, runtime_, attention)) result_.rows.push_back(std::move(row));
    for (const TensorId id : node.outputs) {
      if (id != kAbsent) producer_row_[id] = static_cast<std::int64_t>(result_.rows.size()) - 1;
    }
  }

  // A cast of an activation is generated into the kernel that makes or reads it, where that is no library's.
  bool folds_cast(NodeId position, TensorId id) {
    if (row_of_[id] >= 0 && is_generated(result_.rows[row_of_[id]].kind)) {
      const int bits = storage().tensor_bits[id];
      const auto count = static_cast<double>(graph_.tensors[id].num_elements());
      // Nobody else reads the wider one: only the narrow one is written.
      if (num_readers_[id] == 1 && bits_after_cast(bits) < bits) {
        Kernel& row = result_.rows[row_of_[id]];
        row.bytes_out = std::max(0.0, row.bytes_out - count * (bits - bits_after_cast(bits)) / kBitsPerByte);
      }
      return true;
    }
    return is_generated(kinds_[position]);
  }

  // The row that `position` is fused into, or a new one. Rows run in order, and a node joins one only where everything
  // that it reads is made by then, so no path leaves a row and comes back: groups are convex.
  std::int64_t join_row(NodeId position) {
    const Node& node = graph_.nodes[position];
    if (runtime_.fuses) {
      std::int64_t best = -1;
      CostKind kind = CostKind::other;
      for (const TensorId id : node.inputs) {
        if (id == kAbsent || row_of_[id] < 0 || (num_readers_[id] != 1 && !runtime_.fuses_shared)) continue;
        const Kernel& row = result_.rows[row_of_[id]];
        const auto fused = fused_kind(runtime_.name, row.kind, kinds_[position]);
        // Behind the latest producer: the others are done by then, and it is what the runtime keeps in registers.
        if (fused && row.repeat == node.repeat && row_of_[id] > best) {
          best = row_of_[id];
          kind = *fused;
        }
      }
      if (best >= 0 && inputs_are_ready(node, best)) {
        result_.rows[best].kind = kind;
        return best;
      }
    }
    Kernel row{.name = node.name, .kind = kinds_[position]};
    row.kind = kinds_[position] == CostKind::view ? CostKind::copy : kinds_[position];
    row.arithmetic = storage().arithmetic[position];
    row.repeat = node.repeat;
    describe_anchor(row, node);
    result_.rows.push_back(std::move(row));
    return static_cast<std::int64_t>(result_.rows.size()) - 1;
  }

  // Rows run in order: a node may join row `row` only if nothing that it reads is made by a later one.
  [[nodiscard]] bool inputs_are_ready(const Node& node, std::int64_t row) const {
    return std::all_of(node.inputs.begin(), node.inputs.end(),
                       [&](TensorId id) { return id == kAbsent || producer_row_[id] <= row; });
  }

  // Bits of one element as `position` reads it: a cast copy has changed them.
  [[nodiscard]] int bits_read(NodeId position, TensorId id) const {
    const std::vector<TensorId>& casts = storage().casts[position];
    const int bits = storage().tensor_bits[id];
    if (std::find(casts.begin(), casts.end(), id) == casts.end()) return bits;
    return bits_after_cast(bits);
  }

  // The size that the tensors have in memory over the size that the graph gives them: what a precision changes.
  template <typename Bits>
  [[nodiscard]] double stored_share(const std::vector<TensorId>& ids, bool weights, Bits bits) const {
    double declared = 0;
    double stored = 0;
    for (const TensorId id : ids) {
      if (id == kAbsent || graph_.tensors[id].is_weight() != weights) continue;
      const auto count = static_cast<double>(graph_.tensors[id].num_elements());
      declared += count * dtype_row(graph_.tensors[id].dtype).size_bits;
      stored += count * bits(id);
    }
    return declared > 0 ? stored / declared : 1.0;
  }

  void describe_anchor(Kernel& row, const Node& node) const {
    const Gemm gemm = gemm_of(graph_, node);
    row.gemm_batch = gemm.batch;
    row.m = gemm.m;
    row.n = gemm.n;
    row.k = gemm.k;
    describe_image(row, node);
    if (is_one_of(kRowKinds, row.kind)) row.row = combined_elements(node);
    if (row.kind == CostKind::attention) describe_attention(row, node);
    if (row.kind == CostKind::matmul) return;  // of a fully connected layer that is written as a convolution
    row.groups = static_cast<double>(node.attributes.integer("group", 1));
    row.window = product(node.attributes.integers("kernel_shape"));
    row.stride = product(node.attributes.integers("strides"));
    if (const auto convolution = convolution_of(graph_, node)) {
      row.window = static_cast<double>(convolution->window_elements());
    }
  }

  void describe_image(Kernel& row, const Node& node) const {
    if (!is_one_of(kImageKinds, row.kind) || node.outputs.empty() || node.outputs[0] == kAbsent) return;
    const Shape image = channels_first(node.attributes, graph_.tensors[node.outputs[0]].shape);
    if (image.size() > 2) row.positions = product(Shape(image.begin() + 2, image.end()));
    // A code generator gives every element a thread of its own.
    row.interpolates =
        row.kind == CostKind::resize && !runtime_.fuses_shared && node.attributes.text("mode", "nearest") != "nearest";
    row.channels_last =
        !channels_last_.empty() && std::any_of(node.inputs.begin(), node.inputs.end(),
                                               [&](TensorId id) { return id != kAbsent && channels_last_[id]; });
  }

  // How many elements of the input make one of the result: the length of a row that one block of threads walks.
  [[nodiscard]] double combined_elements(const Node& node) const {
    const Tensor* input = input_tensor(graph_, node, 0);
    const Tensor* output = output_tensor(graph_, node, 0);
    if (input == nullptr || output == nullptr || input->shape.empty()) return 0;
    if (operator_row(node.op).kind == CostKind::reduce) {
      return static_cast<double>(input->num_elements()) / std::max(1.0, static_cast<double>(output->num_elements()));
    }
    const Tensor* scale = input_tensor(graph_, node, 1);
    if (operator_row(node.op).kind == CostKind::layer_norm && scale != nullptr) {
      return static_cast<double>(scale->num_elements());
    }
    const auto rank = static_cast<std::int64_t>(input->shape.size());
    const std::int64_t axis = node.attributes.integer("axis", -1);
    return static_cast<double>(input->shape[static_cast<std::size_t>(axis < 0 ? axis + rank : axis) % rank]);
  }

  void describe_attention(Kernel& row, const Node& node) const {
    row.masked = attention_sizes(node.op, node.source_operator, node.attributes, input_shapes(graph_, node)).has_mask;
  }

  void add_node(std::int64_t index, NodeId position) {
    const Node& node = graph_.nodes[position];
    Kernel& row = result_.rows[index];
    const bool is_first = row.members.empty();
    if (!is_first) row.name += concat("+", node.name);
    row.members.push_back(position);
    row.macs += node.cost.macs;
    row.flops += node.cost.flops * executed_share(row, node);

    const auto read = [&](TensorId id) { return bits_read(position, id); };
    const auto written = [&](TensorId id) { return storage().tensor_bits[id]; };
    double bytes_in = static_cast<double>(node.cost.bytes_in) * stored_share(node.inputs, false, read);
    double bytes_out = static_cast<double>(node.cost.bytes_out) * stored_share(node.outputs, false, written);
    if (kinds_[position] == CostKind::view) {  // a reshape that has to copy: the table counts it as free
      bytes_in = stored_bytes(graph_, storage(), node.inputs[0]);
      bytes_out = bytes_in;
    }
    if (!is_first) {
      // What stays inside the group is neither written nor read again.
      for (const TensorId id : node.inputs) {
        if (id == kAbsent || row_of_[id] != index) continue;
        bytes_in = std::max(0.0, bytes_in - stored_bytes(graph_, storage(), id));
        // What somebody outside reads too is written all the same.
        const TensorId memory = result_.views.base[id];
        if (--num_outside_[memory] == 0) {
          row.bytes_out = std::max(0.0, row.bytes_out - stored_bytes(graph_, storage(), memory));
        }
      }
    }
    row.bytes_in += bytes_in;
    row.bytes_out += bytes_out;
    row.weight_bytes += static_cast<double>(node.cost.weight_bytes) * stored_share(node.inputs, true, read);
    for (const TensorId id : node.outputs) {
      if (id == kAbsent) continue;
      row_of_[id] = index;
      producer_row_[id] = index;
    }
    if (node.op == OperatorId::unknown) result_.unknown_operators.push_back(node.source_operator);
  }

  // A fused kernel skips the blocks of scores that causality hides.
  [[nodiscard]] static double executed_share(const Kernel& row, const Node& node) {
    const bool is_causal = row.kind == CostKind::attention && node.attributes.integer("is_causal", 0) != 0;
    return is_causal ? (1 + 1 / std::max(1.0, row.m)) / 2 : 1.0;
  }

  const Graph& graph_;
  const Runtime& runtime_;
  const Precision& precision_;
  bool inputs_channels_last_;
  std::vector<CostKind> kinds_;
  std::vector<std::int64_t> row_of_;        // [tensors] the row whose tail this is, seen through views; -1: none
  std::vector<std::int64_t> producer_row_;  // [tensors] the last row that this depends on; -1: an input
  std::vector<int> num_readers_;            // [tensors]
  std::vector<int> num_outside_;            // [tensors] readers of this memory outside the row that makes it
  std::vector<bool> cast_done_;             // [tensors]
  std::vector<bool> channels_last_;         // [tensors] of PyTorch's memory format; empty elsewhere
  Kernels result_;
};

}  // namespace

Kernels fuse(const Graph& graph, std::string_view runtime_name, std::string_view precision_name, bool channels_last) {
  const Runtime& row = runtime(runtime_name);
  return Fuser(graph, row, precision_of(row, precision_name), channels_last).run();
}

}  // namespace latpred
