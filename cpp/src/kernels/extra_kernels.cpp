#include "extra_kernels.h"

#include <algorithm>

#include "kind_sets.h"
#include "latpred/storage.h"
#include "latpred/text.h"
#include "strided_inputs.h"
#include "strides.h"

namespace latpred {
namespace {

// Autocast's copy of `tensor`.
Kernel cast_kernel(const Tensor& tensor, double bytes_read, double bytes_written, std::int64_t repeat) {
  Kernel cast{.name = concat("cast(", tensor.name, ")"), .kind = CostKind::cast};
  cast.arithmetic = Arithmetic::fp32;
  cast.repeat = repeat;
  cast.flops = static_cast<double>(tensor.num_elements());
  (tensor.is_weight() ? cast.weight_bytes : cast.bytes_in) = bytes_read;
  cast.bytes_out = bytes_written;
  return cast;
}

// Whether the network's code converts `id` in front of `node`.
bool converts_tensor(const Node& node, TensorId id) {
  for (std::size_t place = 0; place < node.inputs.size(); ++place) {
    if (node.inputs[place] == id && converts(node, place)) return true;
  }
  return false;
}

// `tensor`, put in the order that the kernel reads whose arithmetic is given; it reads more than it writes where it
// casts.
Kernel copy_kernel(const Tensor& tensor, double bytes_read, double bytes_written, Arithmetic arithmetic,
                   std::int64_t repeat) {
  Kernel copy{.name = concat("copy(", tensor.name, ")"), .kind = CostKind::copy};
  copy.arithmetic = arithmetic;
  copy.repeat = repeat;
  copy.bytes_in = bytes_read;
  copy.bytes_out = bytes_written;
  return copy;
}

// The addition of the bias to what a product or convolution made.
Kernel bias_kernel(const Node& node, const Tensor& result, double bytes, Arithmetic of_product) {
  Kernel bias{.name = concat(node.name, ".bias"), .kind = CostKind::binary};
  bias.arithmetic = of_product == Arithmetic::tf32 ? Arithmetic::fp32 : of_product;  // the general units
  bias.repeat = node.repeat;
  bias.flops = static_cast<double>(result.num_elements());
  bias.bytes_in = bytes;
  bias.bytes_out = bytes;
  return bias;
}

// What the kernel `norm` of `node` needs to know of `input` before it begins.
Kernel statistics_kernel(const Node& node, const Tensor& input, const Kernel& norm) {
  Kernel statistics{.name = concat(node.name, ".statistics"), .kind = CostKind::reduce};
  statistics.arithmetic = norm.arithmetic;
  statistics.repeat = norm.repeat;
  statistics.row = norm.row;
  statistics.flops = static_cast<double>(input.num_elements());
  statistics.bytes_in = norm.bytes_in;
  return statistics;
}

}  // namespace

ExtraKernels::ExtraKernels(const PreparedGraph& prepared, const StoredBytes& bytes, const OutsideReaders& outside,
                           Traffic& traffic, KernelRows& rows)
    : prepared_(prepared),
      bytes_(bytes),
      outside_(outside),
      traffic_(traffic),
      rows_(rows),
      is_of_pytorch_(is_of_pytorch(prepared.graph)),
      is_eager_(prepared.runtime.strided_views && !prepared.runtime.fuses_shared),
      cast_done_(prepared.graph.tensors.size(), false) {}

void ExtraKernels::add_before(NodeId position) {
  const std::vector<TensorId> copies = copied(position);
  for (const TensorId id : prepared_.storage.casts[position]) {
    add_cast(position, id, std::ranges::find(copies, id) != copies.end());
  }
  for (const TensorId id : copies) add_copy(position, id);
}

// The inputs that do not lie as the node's kernel reads them.
std::vector<TensorId> ExtraKernels::copied(NodeId position) const {
  if (prepared_.plan) {
    // What a library is to read is written as it wants it, where a generated kernel makes it for this reader alone.
    std::vector<TensorId> misplaced = prepared_.plan->nodes[position].misplaced_inputs;
    std::erase_if(misplaced,
                  [&](TensorId id) { return rows_.is_generated(id) && outside_.count(prepared_.views.base[id]) == 1; });
    return misplaced;
  }
  if (!is_eager_ || !is_of_pytorch_) return {};
  const Node& node = prepared_.graph.nodes[position];
  const Storage& storage = prepared_.storage;
  const bool is_narrowed = node.inputs.size() > 1 && node.inputs[1] != kAbsent &&
                           bits_read(storage, position, node.inputs[1]) != storage.tensor_bits[node.inputs[1]];
  return copied_inputs(prepared_.graph, node, prepared_.kinds[position], prepared_.views.strides,
                       {.channels_last = prepared_.gets_channels_last, .narrowed = is_narrowed});
}

void ExtraKernels::add_cast(NodeId position, TensorId id, bool is_copied) {
  if (prepared_.plan && fold_cast(position, id, is_copied)) return;
  const Tensor& tensor = prepared_.graph.tensors[id];
  // Autocast keeps the copy of a weight, code what it has converted; what a code generator casts twice it casts in one
  // kernel.
  const auto is_kept = [&] { return tensor.is_weight() || converts_tensor(prepared_.graph.nodes[position], id); };
  if (cast_done_[id] && (prepared_.plan || is_kept())) return;
  cast_done_[id] = true;
  rows_.add(cast_kernel(tensor, bytes_.stored(id), bytes_.cast(id), prepared_.graph.nodes[position].repeat));
}

// A cast is generated into the kernel that makes or reads it, where that is no library's.
bool ExtraKernels::fold_cast(NodeId position, TensorId id, bool is_copied) {
  const bool is_library = has(kLibraries, prepared_.kinds[position]);
  if (prepared_.graph.tensors[id].is_weight()) {
    const std::vector<TensorId>& inputs = prepared_.graph.nodes[position].inputs;
    const bool is_bias = inputs.size() > 2 && inputs[2] == id && prepared_.plan->nodes[position].generates_bias;
    return is_bias || !is_library;
  }
  if (!rows_.is_generated(id)) return !is_library;
  if (is_library && !is_copied && is_narrowed(prepared_.storage, position, id)) traffic_.add_narrow_copy(position, id);
  return true;
}

void ExtraKernels::add_copy(NodeId position, TensorId id) {
  const double written = bytes_.read(position, id);
  const double read = prepared_.plan ? bytes_.stored(id) : written;  // a generated copy casts too
  const Tensor& tensor = prepared_.graph.tensors[id];
  Kernel copy = copy_kernel(tensor, read, written, prepared_.storage.arithmetic[position],
                            prepared_.graph.nodes[position].repeat);
  copy.reads_across =
      is_eager_ && is_read_across(tensor.shape, prepared_.views.strides[id], contiguous_strides(tensor.shape));
  rows_.add(std::move(copy));
}

void ExtraKernels::add_behind(RowId row, NodeId position) {
  const Node& node = prepared_.graph.nodes[position];
  if (prepared_.plan && prepared_.plan->nodes[position].reads_twice) {
    rows_.add(statistics_kernel(node, prepared_.graph.tensors[node.inputs[0]], rows_[row]));
  }
  if (adds_bias(row, position)) add_bias(position);
}

bool ExtraKernels::adds_bias(RowId row, NodeId position) const {
  if (prepared_.plan) return prepared_.plan->nodes[position].adds_bias;
  const Node& node = prepared_.graph.nodes[position];
  return is_eager_ && ((is_of_pytorch_ && adds_bias_apart(prepared_.graph, node, prepared_.views.strides)) ||
                       adds_bias_behind(node, prepared_.kinds[position], rows_[row].channels_last));
}

void ExtraKernels::add_bias(NodeId position) {
  const Node& node = prepared_.graph.nodes[position];
  const TensorId id = node.outputs[0];
  Kernel bias =
      bias_kernel(node, prepared_.graph.tensors[id], bytes_.stored(id), prepared_.storage.arithmetic[position]);
  if (prepared_.plan) {
    rows_.add_bias(std::move(bias), id);
  } else {
    rows_.add(std::move(bias));
  }
}

}  // namespace latpred
