#include "workspace.h"

#include <array>

#include "latpred/operators.h"
#include "runtime_memory.h"

namespace latpred {
namespace {

constexpr std::int64_t kKib = 1024;
// CUBLAS_WORKSPACE_CONFIG as PyTorch sets it: ":4096:2:16:8", and eight of 4096 KiB on Hopper.
constexpr std::int64_t kProductWorkspace = (4096 * kKib) * 2 + (16 * kKib) * 8;
constexpr std::int64_t kHopperProductWorkspace = (4096 * kKib) * 8;
constexpr int kHopper = 90;

constexpr std::array<std::int64_t, kNumArithmetics> kElementBytes{4, 4, 2, 2, 1};  // in the order of Arithmetic

// Fully connected layers that are written as convolutions have the cost of products, and the library of convolutions.
bool is_convolution(const Graph& graph, const Kernel& row) {
  if (row.kind == CostKind::matmul && !row.members.empty()) {
    return operator_row(graph.nodes[row.members.front()].op).kind == CostKind::conv;
  }
  return row.kind == CostKind::conv || row.kind == CostKind::conv_1x1 || row.kind == CostKind::conv_grouped;
}

std::int64_t num_elements(const Graph& graph, const std::vector<TensorId>& ids, std::size_t index) {
  return index < ids.size() && ids[index] != kAbsent ? graph.tensors[ids[index]].num_elements() : 0;
}

std::int64_t convolution_scratch(const Graph& graph, const Kernel& row, const Device& device, bool converts_layout) {
  if (row.members.empty()) return 0;
  const Node& node = graph.nodes[row.members.front()];
  const std::int64_t element = kElementBytes.at(static_cast<std::size_t>(row.arithmetic));
  if (!device.is_gpu) return (num_elements(graph, node.inputs, 1) + num_elements(graph, node.outputs, 0)) * element;
  if (!converts_layout || row.arithmetic == Arithmetic::fp32) return 0;
  // Without such units the library falls back to float32's.
  if (row.arithmetic == Arithmetic::tf32 && !device.tf32_flops_per_s) return 0;
  return (num_elements(graph, node.inputs, 0) + num_elements(graph, node.inputs, 1)) * element;
}

}  // namespace

std::vector<MemoryBlock> library_workspace(const Graph& graph, const Kernels& kernels, const Device& device) {
  std::vector<MemoryBlock> blocks;
  const auto num_steps = static_cast<std::int32_t>(kernels.rows.size());
  const bool converts_layout = runtime_memory(kernels.runtime).converts_layout;
  bool has_product = false;
  for (std::int32_t step = 0; step < num_steps; ++step) {
    const Kernel& row = kernels.rows[step];
    if (is_convolution(graph, row)) {
      const std::int64_t bytes = convolution_scratch(graph, row, device, converts_layout);
      if (bytes > 0) blocks.push_back({bytes, step, step});
      continue;
    }
    if ((row.kind == CostKind::matmul || row.kind == CostKind::batch_matmul) && device.is_gpu && !has_product) {
      has_product = true;
      const bool is_hopper = device.compute_capability == kHopper;
      blocks.push_back({is_hopper ? kHopperProductWorkspace : kProductWorkspace, step, num_steps - 1});
    }
  }
  return blocks;
}

}  // namespace latpred
