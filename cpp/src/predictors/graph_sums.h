#pragma once

#include <ATen/core/Tensor.h>

#include "batch/graph_batch.h"

namespace latpred {

// Sums along edges with their gradients, as loops over the edges that reach each node: no row of features is copied to
// an edge first, which is what costs time and memory in layers put together from general operations. And rectifiers
// with dropout in one pass, nothing kept but what they give. Float, one thread.

// out[n] = sum over edges to n of weights[edge] * x[source]: x [n, H * C], weights [e, H] give [n, H * C].
[[nodiscard]] at::Tensor weighted_sum(const at::Tensor& x, const at::Tensor& weights, const Neighbours& neighbours);

// Softmax of scores [e, H] over the edges that reach the same node.
[[nodiscard]] at::Tensor softmax_of_neighbours(const at::Tensor& scores, const Neighbours& neighbours);

// x [n, C] at index [e]: [e, C].
[[nodiscard]] at::Tensor rows_at(const at::Tensor& x, const at::Tensor& index);

// max(0, x) of x [...], a share of it dropped where there is a generator, and the rest made larger for it.
[[nodiscard]] at::Tensor rectified(const at::Tensor& x, double dropout, const at::Generator* generator);

}  // namespace latpred
