#pragma once

#include <vector>

#include "latpred/device.h"
#include "latpred/graph.h"
#include "latpred/kernel.h"
#include "liveness.h"

namespace latpred {

// Scratch of the libraries, in the order of the steps that ask for it. Modelled: the libraries choose their algorithms
// at run time and do not say what they will need.
//
// Matrix products on a GPU: the workspace that PyTorch gives cuBLAS with the first product and never takes back; its
// default sizes (at::cuda::getChosenWorkspaceSize).
// Convolutions on a GPU, in a runtime that keeps NCHW: tensor cores read NHWC, so input and weight are copied into that
// layout for the call. float32 units and depth-wise convolutions read NCHW and get none.
// Convolutions on a CPU: oneDNN's blocked copies of weight and output.
[[nodiscard]] std::vector<MemoryBlock> library_workspace(const Graph& graph, const Kernels& kernels,
                                                         const Device& device);

}  // namespace latpred
