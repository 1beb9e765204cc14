#include "latpred/kernel.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

#include "anchor.h"
#include "composed_attention.h"
#include "extra_kernels.h"
#include "fusion_rules.h"
#include "generated.h"
#include "inductor_plan.h"
#include "kind_sets.h"
#include "latpred/runtime.h"
#include "latpred/text.h"
#include "outside_readers.h"
#include "stored_bytes.h"
#include "strided_inputs.h"
#include "strides.h"

namespace latpred {
namespace {

bool is_generated(CostKind kind) { return !has(kLibraries, kind); }

// Makes the rows for one graph; its members are what the steps share.
class Fuser {
 public:
  Fuser(const Graph& graph, const Runtime& runtime, const Precision& precision, bool channels_last)
      : graph_(graph),
        runtime_(runtime),
        precision_(precision),
        inputs_channels_last_(channels_last),
        reads_(graph.tensors.size()) {}

  Kernels run() {
    prepare();
    for (NodeId position = 0; position < static_cast<NodeId>(graph_.nodes.size()); ++position) {
      if (result_.views.is_view[position]) {
        pass_through(position);
        continue;
      }
      const std::vector<TensorId> copied = copied_for(position);
      add_casts(position, copied);
      if (kinds_[position] == CostKind::attention && runtime_.strided_views &&
          is_composed(graph_, graph_.nodes[position])) {
        add_composed(position);
        continue;
      }
      add_copies(position, copied);
      const std::int64_t row = join_row(position);
      add_node(row, position);
      if (plan_ && plan_->reads_twice(position)) add_statistics(position, row);
      if (adds_bias(position, row)) add_bias(position);
    }
    if (plan_) note_concatenations(result_.rows, kinds_);
    if (plan_) drop_repeated();
    drop(result_.rows, absorbed_);
    for (const Kernel& kernel : result_.rows) result_.num_launches += kernel.repeat;
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
    note_copies();
    if (runtime_.fuses_shared) plan_.emplace(graph_, kinds_, result_.views, result_.storage);
    // Other frameworks' files say in which order an image stands, and cost the same in both.
    if (runtime_.strided_views && (is_of_pytorch(graph_) || inputs_channels_last_)) {
      channels_last_ = channels_last_tensors(graph_, result_.views.strides);
    }
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
    bytes_.emplace(graph_, kinds_, result_.views, storage(), plan_.has_value());
    outside_ = OutsideReaders(graph_, kinds_, result_.views, storage(), plan_ ? plan_->repeated() : Repeated());
  }

  // Reshapes that have to copy.
  void note_copies() {
    for (std::size_t position = 0; position < kinds_.size(); ++position) {
      if (kinds_[position] == CostKind::view && !result_.views.is_view[position]) kinds_[position] = CostKind::copy;
    }
  }

  // A view hands its producer's row on, so that a chain can be fused through it.
  void pass_through(NodeId position) {
    const Node& node = graph_.nodes[position];
    if (node.inputs.empty() || node.inputs[0] == kAbsent) return;
    const TensorId from = node.inputs[0];
    for (const TensorId id : node.outputs) {
      if (id == kAbsent) continue;
      reads_.see_through(id, from);
      const bool is_whole = (num_readers_[from] == 1 && node.outputs.size() == 1) || runtime_.fuses_shared;
      row_of_[id] = is_whole ? row_of_[from] : -1;
      producer_row_[id] = producer_row_[from];
    }
  }

  void add_casts(NodeId position, const std::vector<TensorId>& copied) {
    for (const TensorId id : storage().casts[position]) {
      const bool is_copied = std::ranges::find(copied, id) != copied.end();
      if (plan_ && fold_cast(position, id, is_copied)) continue;
      // Autocast keeps the copy of a weight; what a code generator casts twice it casts in one kernel.
      if (cast_done_[id] && (plan_ || graph_.tensors[id].is_weight())) continue;
      cast_done_[id] = true;
      result_.rows.push_back(
          cast_kernel(graph_.tensors[id], bytes_->stored(id), bytes_->cast(id), graph_.nodes[position].repeat));
    }
  }

  // PyTorch operator by operator: a code generator reads what it needs where it lies.
  [[nodiscard]] bool is_eager() const { return runtime_.strided_views && !runtime_.fuses_shared; }
  [[nodiscard]] bool follows_strides() const { return is_eager() && is_of_pytorch(graph_); }

  // The inputs of `position` that do not lie as its kernel reads them.
  [[nodiscard]] std::vector<TensorId> copied_for(NodeId position) const {
    if (!is_of_pytorch(graph_) || !runtime_.strided_views) return {};
    return plan_ ? copied_by_generator(position) : copied_by_eager(position);
  }

  void add_copies(NodeId position, const std::vector<TensorId>& copied) {
    for (const TensorId id : copied) {
      const double written = bytes_->read(position, id);
      const double read = plan_ ? bytes_->stored(id) : written;  // a generated copy casts too
      result_.rows.push_back(copy_kernel(graph_.tensors[id], read, written, storage().arithmetic[position],
                                         graph_.nodes[position].repeat));
    }
  }

  [[nodiscard]] std::vector<TensorId> copied_by_eager(NodeId position) const {
    const Node& node = graph_.nodes[position];
    const bool is_narrowed = node.inputs.size() > 1 && node.inputs[1] != kAbsent &&
                             bits_read(storage(), position, node.inputs[1]) != storage().tensor_bits[node.inputs[1]];
    return copied_inputs(graph_, node, kinds_[position], result_.views.strides,
                         {.channels_last = inputs_channels_last_, .narrowed = is_narrowed});
  }

  // What a library is to read is written as it wants it, where a generated kernel makes it for this reader alone.
  [[nodiscard]] std::vector<TensorId> copied_by_generator(NodeId position) const {
    std::vector<TensorId> copied = plan_->misplaced_inputs(position);
    std::erase_if(copied, [&](TensorId id) {
      return row_of_[id] >= 0 && is_generated(result_.rows[row_of_[id]].kind) &&
             outside_.count(result_.views.base[id]) == 1;
    });
    return copied;
  }

  void add_statistics(NodeId position, std::int64_t row) {
    const Node& node = graph_.nodes[position];
    result_.rows.push_back(statistics_kernel(node, graph_.tensors[node.inputs[0]], result_.rows[row]));
  }

  [[nodiscard]] bool adds_bias(NodeId position, std::int64_t row) const {
    const Node& node = graph_.nodes[position];
    if (plan_) return plan_->adds_bias(position);
    return (follows_strides() && adds_bias_apart(graph_, node, result_.views.strides)) ||
           (is_eager() && adds_bias_behind(node, kinds_[position], result_.rows[row].channels_last));
  }

  void add_bias(NodeId position) {
    const Node& node = graph_.nodes[position];
    const TensorId id = node.outputs[0];
    const double bytes = bytes_->stored(id);
    result_.rows.push_back(bias_kernel(node, graph_.tensors[id], bytes, storage().arithmetic[position]));
    if (!plan_) return;
    row_of_[id] = producer_row_[id] = std::ssize(result_.rows) - 1;
    bias_of_[row_of_[id]] = id;
  }

  void add_composed(NodeId position) {
    const Node& node = graph_.nodes[position];
    const ComposedAttention attention =
        composed_of(graph_, node, result_.views.strides, bits_read(storage(), position, node.inputs[0]));
    for (Kernel& row : compose_attention(graph_, position, runtime_, attention)) result_.rows.push_back(std::move(row));
    for (const TensorId id : node.outputs) {
      if (id != kAbsent) producer_row_[id] = static_cast<std::int64_t>(result_.rows.size()) - 1;
    }
  }

  // A cast is generated into the kernel that makes or reads it, where that is no library's.
  bool fold_cast(NodeId position, TensorId id, bool is_copied) {
    if (graph_.tensors[id].is_weight()) {
      const std::vector<TensorId>& inputs = graph_.nodes[position].inputs;
      const bool is_bias = inputs.size() > 2 && inputs[2] == id && plan_->generates_bias(position);
      return is_bias || is_generated(kinds_[position]);
    }
    if (row_of_[id] >= 0 && is_generated(result_.rows[row_of_[id]].kind)) {
      if (has(kLibraries, kinds_[position]) && is_narrowed(storage(), position, id) && !is_copied) {
        Kernel& row = result_.rows[row_of_[id]];
        row.bytes_out += bytes_->read(position, id);
        leave_unread(row, result_.views.base[id]);
      }
      return true;
    }
    return is_generated(kinds_[position]);
  }

  // `row` does not write what nobody outside reads as it is.
  void leave_unread(Kernel& row, TensorId memory) {
    if (is_unstored(memory) || !outside_.take_unread(memory)) return;
    row.bytes_out = std::max(0.0, row.bytes_out - bytes_->stored(memory));
  }

  // The row that `position` is fused into, or a new one. Rows run in order, and a node joins one only where everything
  // that it reads is made by then, so no path leaves a row and comes back: groups are convex.
  std::int64_t join_row(NodeId position) {
    const Node& node = graph_.nodes[position];
    if (runtime_.fuses && !is_long_concatenation(position)) {
      std::int64_t best = -1;
      CostKind kind = CostKind::other;
      for (const TensorId id : node.inputs) {
        if (id == kAbsent || row_of_[id] < 0 || (num_readers_[id] != 1 && !runtime_.fuses_shared)) continue;
        const Kernel& row = result_.rows[row_of_[id]];
        if (ends_in_long_concatenation(row) || (plan_ && plan_->is_apart(position, id))) continue;
        const auto fused = fused_kind(runtime_.name, row.kind, kinds_[position]);
        // Behind the latest producer: the others are done by then, and it is what the runtime keeps in registers.
        if (fused && row.repeat == node.repeat && row_of_[id] > best) {
          best = row_of_[id];
          kind = *fused;
        }
      }
      if (best >= 0 && plan_ && !inputs_are_ready(node, best) && has(kInlined, result_.rows[best].kind) &&
          is_read_by_alone(node, best)) {
        best = move_to_end(best);
      }
      if (best >= 0 && inputs_are_ready(node, best)) {
        if (runtime_.fuses_shared) absorb_producers(position, best);
        result_.rows[best].kind = kind;
        return best;
      }
    }
    Kernel row{.name = node.name, .kind = kinds_[position]};
    row.arithmetic = storage().arithmetic[position];
    row.repeat = node.repeat;
    describe_anchor(graph_, node,
                    {.channels_last = channels_last_,
                     .is_generated = runtime_.fuses_shared,
                     .moves_channels_last = plan_ && plan_->moves_channels_last()},
                    row);
    result_.rows.push_back(std::move(row));
    return static_cast<std::int64_t>(result_.rows.size()) - 1;
  }

  // An activation that is multiplied by what a library makes after it is computed where that is done.
  std::int64_t move_to_end(std::int64_t row) {
    const std::int64_t end = std::ssize(result_.rows);
    result_.rows.push_back(result_.rows[row]);
    result_.rows[row].members.clear();
    reads_.merge(row, end);
    std::ranges::replace(row_of_, row, end);
    std::ranges::replace(producer_row_, row, end);
    if (auto bias = bias_of_.extract(row)) {
      bias.key() = end;
      bias_of_.insert(std::move(bias));
    }
    absorbed_.push_back(row);
    return end;
  }

  // Rows run in order: a node may join row `row` only if nothing that it reads is made by a later one.
  [[nodiscard]] bool inputs_are_ready(const Node& node, std::int64_t row) const {
    return std::all_of(node.inputs.begin(), node.inputs.end(),
                       [&](TensorId id) { return id == kAbsent || producer_row_[id] <= row; });
  }

  [[nodiscard]] bool is_long_concatenation(NodeId position) const {
    return plan_ && plan_->is_long_concatenation(position);
  }

  [[nodiscard]] bool ends_in_long_concatenation(const Kernel& row) const {
    return !row.members.empty() && is_long_concatenation(row.members.back());
  }

  // Of what a long concatenation puts together: bytes that generated kernels write to their place themselves.
  [[nodiscard]] double bytes_made_in_place(const Node& node, std::int64_t index) const {
    double bytes = 0;
    for (const TensorId id : node.inputs) {
      if (id == kAbsent || row_of_[id] < 0 || row_of_[id] == index) continue;
      const bool is_read_here_alone = outside_.count(result_.views.base[id]) == 1;
      if (is_read_here_alone && is_generated(result_.rows[row_of_[id]].kind)) {
        bytes += bytes_->stored(id);
      }
    }
    return bytes;
  }

  // A code generator computes the other point-wise groups that `node` reads in row `best` too, where nobody else reads
  // what they make: both branches in front of an addition are one kernel.
  void absorb_producers(NodeId position, std::int64_t best) {
    const Node& node = graph_.nodes[position];
    for (const TensorId id : node.inputs) {
      if (id == kAbsent || row_of_[id] < 0 || row_of_[id] == best) continue;
      const std::int64_t other = row_of_[id];
      const Kernel& row = result_.rows[other];
      if (ends_in_long_concatenation(row) || plan_->is_apart(position, id)) continue;
      if (has(kInlined, row.kind) && row.repeat == node.repeat && is_read_by_alone(node, other)) absorb(other, best);
    }
  }

  [[nodiscard]] bool is_read_by_alone(const Node& node, std::int64_t index) const {
    const auto is_read_here = [&](TensorId id) {
      if (id == kAbsent) return true;
      const TensorId memory = result_.views.base[id];
      const auto is_of_memory = [&](TensorId input) { return input != kAbsent && result_.views.base[input] == memory; };
      return outside_.count(memory) == std::count_if(node.inputs.begin(), node.inputs.end(), is_of_memory);
    };
    if (const auto bias = bias_of_.find(index); bias != bias_of_.end() && !is_read_here(bias->second)) return false;
    const Kernel& row = result_.rows[index];
    return std::ranges::all_of(
        row.members, [&](NodeId member) { return std::ranges::all_of(graph_.nodes[member].outputs, is_read_here); });
  }

  void absorb(std::int64_t from, std::int64_t into) {
    merge(result_.rows[from], result_.rows[into]);
    result_.rows[into].bytes_in = std::max(0.0, result_.rows[into].bytes_in - reads_.merge(from, into));
    std::replace(row_of_.begin(), row_of_.end(), from, into);
    std::replace(producer_row_.begin(), producer_row_.end(), from, into);
    absorbed_.push_back(from);
  }

  // Rows that make nothing but what their readers compute again, and concatenations of what was written to its place.
  void drop_repeated() {
    const auto is_repeated = [&](NodeId member) { return makes_unstored(graph_.nodes[member]); };
    for (std::int64_t row = 0; row < std::ssize(result_.rows); ++row) {
      const Kernel& kernel = result_.rows[row];
      const bool is_in_place = ends_in_long_concatenation(kernel) && kernel.bytes_in == 0 && kernel.bytes_out == 0;
      const bool is_unmade = !kernel.members.empty() && std::ranges::all_of(kernel.members, is_repeated);
      if (is_in_place || is_unmade) absorbed_.push_back(row);
    }
  }

  // Bytes of its inputs that `position` need not read for row `index`, which has them; less what it reads instead.
  double loaded_already(std::int64_t index, NodeId position) {
    double bytes = 0;
    for_each_distinct(graph_.nodes[position].inputs, [&](TensorId id) {
      if (graph_.tensors[id].is_weight() || row_of_[id] == index) return;
      const TensorId memory = result_.views.base[id];
      if (!is_unstored(memory)) {
        bytes += reads_.note(index, id, bytes_->read(position, id));
        return;
      }
      bytes += bytes_->read(position, id);
      for (const TensorId source : plan_->repeated().sources(memory)) {
        if (graph_.tensors[source].is_weight() || row_of_[source] == index) continue;
        const double read = bytes_->stored(source);
        bytes -= read - reads_.note(index, source, read);
      }
    });
    return bytes;
  }

  [[nodiscard]] bool makes_unstored(const Node& node) const {
    return !node.outputs.empty() && is_unstored(node.outputs[0]);
  }
  [[nodiscard]] bool is_unstored(TensorId id) const { return plan_ && plan_->repeated().is_unstored(id); }

  void add_node(std::int64_t index, NodeId position) {
    const Node& node = graph_.nodes[position];
    Kernel& row = result_.rows[index];
    const bool is_first = row.members.empty() && !bias_of_.contains(index);
    if (!is_first) row.name += concat("+", node.name);
    row.members.push_back(position);
    row.macs += node.cost.macs;
    row.flops += node.cost.flops * executed_share(row, node);

    auto [bytes_in, bytes_out, weight_bytes] = bytes_->moved(position);
    if (!is_first) {
      // What stays inside the group is neither written nor read again.
      double inside = 0;
      for_each_distinct(node.inputs, [&](TensorId id) {
        if (row_of_[id] == index) inside += bytes_->read(position, id);
      });
      bytes_in = std::max(0.0, bytes_in - inside);
      for (const TensorId id : node.inputs) {
        if (id == kAbsent || row_of_[id] != index) continue;
        // What somebody outside reads too is written all the same.
        const TensorId memory = result_.views.base[id];
        outside_.join(memory);
        leave_unread(row, memory);
        if (!is_unstored(memory)) continue;
        for (const TensorId source : plan_->repeated().sources(memory)) {
          if (row_of_[source] != index) continue;
          outside_.join_source(source);
          leave_unread(row, source);
        }
      }
    }
    if (runtime_.fuses_shared) {
      bytes_in = std::max(0.0, bytes_in - loaded_already(index, position));
      if (is_long_concatenation(position)) {
        const double in_place = bytes_made_in_place(node, index);
        bytes_in = std::max(0.0, bytes_in - in_place);
        bytes_out = std::max(0.0, bytes_out - in_place);
      }
    }
    row.bytes_in += bytes_in;
    if (makes_unstored(node)) bytes_out = 0;
    row.bytes_out += bytes_out;
    row.weight_bytes += weight_bytes;
    for (const TensorId id : node.outputs) {
      if (id == kAbsent) continue;
      row_of_[id] = index;
      producer_row_[id] = index;
    }
    if (node.op == OperatorId::unknown) result_.unknown_operators.push_back(node.source_operator);
  }

  const Graph& graph_;
  const Runtime& runtime_;
  const Precision& precision_;
  bool inputs_channels_last_;
  std::vector<CostKind> kinds_;
  std::vector<std::int64_t> row_of_;        // [tensors] the row whose tail this is, seen through views; -1: none
  std::vector<std::int64_t> producer_row_;  // [tensors] the last row that this depends on; -1: an input
  std::optional<InductorPlan> plan_;        // of a code generator
  std::optional<StoredBytes> bytes_;
  GeneratedReads reads_;                      // of a code generator
  std::map<std::int64_t, TensorId> bias_of_;  // of a code generator: rows that begin with one, and what they add it to
  std::vector<std::int64_t> absorbed_;        // rows computed in later ones
  std::vector<int> num_readers_;              // [tensors]
  OutsideReaders outside_;                    // of the row that makes a tensor's memory
  std::vector<bool> cast_done_;               // [tensors]
  std::vector<bool> channels_last_;           // [tensors] of PyTorch's memory format; empty elsewhere
  Kernels result_;
};

}  // namespace

Kernels fuse(const Graph& graph, std::string_view runtime_name, std::string_view precision_name, bool channels_last) {
  const Runtime& row = runtime(runtime_name);
  return Fuser(graph, row, precision_of(row, precision_name), channels_last).run();
}

}  // namespace latpred
