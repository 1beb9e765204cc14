#include "liveness.h"

#include <algorithm>
#include <array>

#include "eager_extras.h"
#include "latpred/error.h"
#include "latpred/runtime.h"
#include "latpred/text.h"
#include "runtime_memory.h"
#include "saved_tensors.h"

namespace latpred {
namespace {

// Kernels whose outputs are written where the inputs of the same place were read.
bool goes_element_by_element(CostKind kind) {
  constexpr std::array kKinds{CostKind::unary,      CostKind::binary,     CostKind::cast,
                              CostKind::batch_norm, CostKind::layer_norm, CostKind::softmax};
  return std::find(kKinds.begin(), kKinds.end(), kind) != kKinds.end();
}

class Planner {
 public:
  Planner(const Graph& graph, const Kernels& kernels, bool autograd)
      : graph_(graph),
        kernels_(kernels),
        runtime_(runtime(kernels.runtime)),
        storage_(kernels.storage),
        views_(kernels.views),
        autograd_(autograd) {}

  MemoryPlan run() {
    if (autograd_ && !runtime_memory(runtime_.name).can_train) refuse_autograd();
    prepare();
    list_callers_memory();
    follow_reads();
    for (NodeId position = 0; position < std::ssize(graph_.nodes); ++position) {
      if (step_of_[position] >= 0) add_node(position);
    }
    return std::move(plan_);
  }

 private:
  [[noreturn]] void refuse_autograd() const {
    throw InvalidArgumentError(
        concat("autograd=True: runtime '", runtime_.name,
               "' only infers and keeps nothing for backward; use runtime 'eager' or 'compiled', "
               "or autograd=False"));
  }

  void prepare() {
    plan_.num_steps = static_cast<std::int32_t>(kernels_.rows.size());
    step_of_.assign(graph_.nodes.size(), -1);
    for (std::int32_t step = 0; step < plan_.num_steps; ++step) {
      for (const NodeId position : kernels_.rows[step].members) step_of_[position] = step;
    }
    block_of_.assign(graph_.tensors.size(), -1);
    follow_aliases();
    if (runtime_.fuses) find_written_halved();
    gradient_ = autograd_ ? find_gradients(graph_) : std::vector<bool>(graph_.tensors.size(), false);
  }

  // Which tensor owns the memory of each: of views their base, of what works in place its first input. With autograd
  // some of those clone their input, and none is taken for an alias.
  void follow_aliases() {
    base_ = views_.base;
    for (const Node& node : graph_.nodes) {
      for (const TensorId id : node.outputs) {
        if (id != kAbsent) base_[id] = base_[base_[id]];
      }
      if (!runtime_.fuses && !autograd_ && works_in_place(node)) base_[node.outputs[0]] = base_[node.inputs[0]];
    }
  }

  // A runtime that fuses casts where a tensor is written: one that all its readers want halved never exists whole.
  void find_written_halved() {
    std::vector<std::int32_t> reads(graph_.tensors.size());
    std::vector<std::int32_t> casts(graph_.tensors.size());
    for (std::size_t position = 0; position < graph_.nodes.size(); ++position) {
      for (const TensorId id : graph_.nodes[position].inputs) {
        if (id != kAbsent) ++reads[id];
      }
      for (const TensorId id : storage_.casts[position]) ++casts[id];
    }
    for (const TensorId id : graph_.outputs) ++reads[id];
    written_halved_.resize(graph_.tensors.size());
    for (std::size_t id = 0; id < reads.size(); ++id) {
      written_halved_[id] = reads[id] > 0 && reads[id] == casts[id] && !graph_.tensors[id].is_weight();
    }
  }

  [[nodiscard]] bool is_written_halved(TensorId id) const { return !written_halved_.empty() && written_halved_[id]; }

  [[nodiscard]] bool works_in_place(const Node& node) const {
    if (!is_in_place(node.source_operator) || node.inputs.empty() || node.outputs.size() != 1) return false;
    const TensorId from = node.inputs[0];
    const TensorId to = node.outputs[0];
    return from != kAbsent && to != kAbsent && graph_.tensors[from].shape == graph_.tensors[to].shape &&
           storage_.tensor_bits[from] == storage_.tensor_bits[to] && !graph_.tensors[from].is_weight();
  }

  [[nodiscard]] EagerNode eager(NodeId position) const {
    return {graph_, graph_.nodes[position], views_.strides, storage_.tensor_bits, gradient_};
  }
  [[nodiscard]] std::int64_t size_bytes(TensorId id) const {
    return stored_bytes(graph_.tensors[id], storage_.tensor_bits[id]);
  }
  [[nodiscard]] std::int32_t last_step() const { return plan_.num_steps - 1; }

  void list_callers_memory() {
    std::vector<bool> is_read(graph_.tensors.size());
    for (const Node& node : graph_.nodes) {
      for (const TensorId id : node.inputs) {
        if (id != kAbsent) is_read[id] = true;
      }
    }
    for (TensorId id = 0; id < std::ssize(graph_.tensors); ++id) {
      if (is_read[id] && graph_.tensors[id].is_weight()) plan_.weights.push_back(size_bytes(id));
    }
    for (const TensorId id : graph_.inputs) plan_.inputs.push_back(size_bytes(id));
  }

  // The last step that needs each piece of memory, and whether a step other than its maker's does.
  void follow_reads() {
    last_read_.assign(graph_.tensors.size(), -1);
    leaves_row_.assign(graph_.tensors.size(), false);
    std::vector<std::int32_t> made_in(graph_.tensors.size(), -1);
    for (NodeId position = 0; position < std::ssize(graph_.nodes); ++position) {
      const std::int32_t step = step_of_[position];
      if (step < 0) continue;
      const Node& node = graph_.nodes[position];
      for (const TensorId id : node.inputs) {
        if (id != kAbsent) read(base_[id], step, made_in[base_[id]] != step);
      }
      for (const TensorId id : node.outputs) {
        if (id != kAbsent && base_[id] == id) made_in[id] = step;
      }
    }
    for (const TensorId id : graph_.outputs) read(base_[id], last_step(), true);
    if (!autograd_) return;
    for (NodeId position = 0; position < std::ssize(graph_.nodes); ++position) {
      if (step_of_[position] >= 0) follow_saved(position);
    }
  }

  void read(TensorId base, std::int32_t step, bool from_outside) {
    last_read_[base] = std::max(last_read_[base], step);
    if (from_outside) leaves_row_[base] = true;
  }

  void follow_saved(NodeId position) {
    const EagerNode node = eager(position);
    for (const TensorId id : saved_tensors(node)) {
      if (was_copied(position, id)) continue;  // the copy is kept instead
      const TensorId base = base_[id];
      if (!runtime_.fuses || leaves_row_[base]) {
        read(base, last_step(), true);
        continue;
      }
      // What never was in memory is computed again from what came into its row.
      for (const NodeId member : kernels_.rows[step_of_[position]].members) {
        for (const TensorId input : graph_.nodes[member].inputs) {
          if (input != kAbsent && leaves_row_[base_[input]]) read(base_[input], last_step(), true);
        }
      }
    }
  }

  [[nodiscard]] bool was_copied(NodeId position, TensorId id) const {
    const std::vector<TensorId>& casts = storage_.casts[position];
    if (std::find(casts.begin(), casts.end(), id) != casts.end()) return true;
    if (runtime_.fuses) return false;
    const std::vector<EagerExtra> extras = eager_extras(eager(position));
    return std::any_of(extras.begin(), extras.end(), [id](const EagerExtra& extra) { return extra.instead_of == id; });
  }

  void add_node(NodeId position) {
    const Node& node = graph_.nodes[position];
    const std::int32_t step = step_of_[position];
    const EagerNode as_eager = eager(position);
    const bool is_recorded = autograd_ && as_eager.is_recorded();
    add_casts(position, step, is_recorded);
    for (const TensorId id : node.outputs) {
      if (id == kAbsent) continue;
      if (base_[id] != id) continue;
      const bool stays_inside = runtime_.fuses && last_read_[id] >= 0 && !leaves_row_[id];
      const std::int64_t size = is_written_halved(id)
                                    ? stored_bytes(graph_.tensors[id], bits_after_cast(storage_.tensor_bits[id]))
                                    : size_bytes(id);
      if (!stays_inside) add_output(id, size, step);
    }
    if (runtime_.fuses) return;
    for (const EagerExtra& extra : eager_extras(as_eager)) {
      add_block(extra.size_bytes, step, extra.is_kept && is_recorded ? last_step() : step);
    }
  }

  // Autocast keeps its copy of a weight until it ends; its copy of an activation goes when the operator is done, unless
  // backward needs it.
  void add_casts(NodeId position, std::int32_t step, bool is_recorded) {
    for (const TensorId id : storage_.casts[position]) {
      if (is_written_halved(id)) continue;
      const bool is_weight = graph_.tensors[id].is_weight();
      if (is_weight) {
        if (std::find(cached_weights_.begin(), cached_weights_.end(), id) != cached_weights_.end()) continue;
        cached_weights_.push_back(id);
      }
      bool is_kept = is_weight;
      if (is_recorded && !is_kept) {
        const std::vector<TensorId> saved = saved_tensors(eager(position));
        is_kept = std::find(saved.begin(), saved.end(), id) != saved.end();
      }
      add_block(stored_bytes(graph_.tensors[id], bits_after_cast(storage_.tensor_bits[id])), step,
                is_kept ? last_step() : step);
    }
  }

  void add_output(TensorId id, std::int64_t bytes, std::int32_t step) {
    const std::int32_t last = std::max(step, last_read_[id]);
    block_of_[id] = overwritten_block(bytes, step);
    if (block_of_[id] >= 0) {
      plan_.blocks[block_of_[id]].last_step = last;
    } else if (bytes > 0) {
      block_of_[id] = static_cast<std::int32_t>(plan_.blocks.size());
      add_block(bytes, step, last);
    }
  }

  // The block of an input that the kernel of `step` reads last and may write its output of `bytes` over; -1: there is
  // none.
  [[nodiscard]] std::int32_t overwritten_block(std::int64_t bytes, std::int32_t step) const {
    const Kernel& row = kernels_.rows[step];
    if (!runtime_memory(runtime_.name).writes_in_place || !goes_element_by_element(row.kind)) return -1;
    for (const NodeId member : row.members) {
      for (const TensorId id : graph_.nodes[member].inputs) {
        const std::int32_t found = id == kAbsent ? -1 : block_of_[base_[id]];
        if (found < 0) continue;
        const MemoryBlock& block = plan_.blocks[found];
        if (block.size_bytes == bytes && block.first_step < step && block.last_step == step) return found;
      }
    }
    return -1;
  }

  void add_block(std::int64_t bytes, std::int32_t first, std::int32_t last) {
    if (bytes > 0) plan_.blocks.push_back({bytes, first, last});
  }

  const Graph& graph_;
  const Kernels& kernels_;
  const Runtime& runtime_;
  const Storage& storage_;
  const ViewInfo& views_;
  const bool autograd_;
  std::vector<TensorId> base_;           // [tensors] the tensor whose memory each lies in
  std::vector<std::int32_t> block_of_;   // [tensors] the piece of the plan that each lies in; -1: none
  std::vector<bool> written_halved_;     // [tensors]; empty: none is
  std::vector<std::int32_t> step_of_;    // [nodes] the row that executes it; -1: none, it is a view
  std::vector<bool> gradient_;           // [tensors]
  std::vector<std::int32_t> last_read_;  // [tensors] of the memory that each owns
  std::vector<bool> leaves_row_;         // [tensors] read outside the row that made it
  std::vector<TensorId> cached_weights_;
  MemoryPlan plan_;
};

}  // namespace

MemoryPlan plan_memory(const Graph& graph, const Kernels& kernels, bool autograd) {
  return Planner(graph, kernels, autograd).run();
}

MemoryPeak peak_of(const std::vector<MemoryBlock>& blocks, std::int32_t num_steps) {
  std::vector<std::int64_t> change(num_steps + 1);
  for (const MemoryBlock& block : blocks) {
    change[block.first_step] += block.size_bytes;
    change[block.last_step + 1] -= block.size_bytes;
  }
  MemoryPeak peak;
  std::int64_t live = 0;
  for (std::int32_t step = 0; step < num_steps; ++step) {
    live += change[step];
    if (live > peak.size_bytes) peak = {live, step};
  }
  return peak;
}

}  // namespace latpred
