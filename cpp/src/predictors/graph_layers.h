#pragma once

#include <ATen/core/Generator.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <string>
#include <vector>

#include "batch/graph_batch.h"

namespace latpred {

// Layers of graph neural networks over a batch of graphs: x [n, inputs] to [n, width]. Each computes what PyTorch
// Geometric's layer of that name does. Weights are drawn from `generator` alone.

// How a batch's edges look to a layer, made once for all layers.
struct GraphEdges {
  Neighbours neighbours;
  Neighbours looped;       // with an edge from each node to itself; GAT and GCN
  at::Tensor mean_weight;  // [e, 1] one over the number of edges that reach the target; SAGE
  at::Tensor gcn_weight;   // [e', 1] of looped edges: one over the root of both degrees
  at::Tensor one;          // [e, 1]; GIN
};
[[nodiscard]] GraphEdges graph_edges(const Neighbours& neighbours);

// A layer's settings; what it does not use it ignores.
struct GraphLayerOptions {
  std::int64_t inputs = 0;
  std::int64_t width = 0;  // of all heads together
  std::int64_t heads = 1;  // of attention
  bool l2_norm = false;    // SAGE: each row divided by its length
};

class GraphLayer : public torch::nn::Module {
 public:
  // `shares`, where given: [e', heads] is set to how much each node attends along edges.looped; undefined for layers
  // without attention.
  [[nodiscard]] virtual at::Tensor forward(const at::Tensor& x, const GraphEdges& edges,
                                           at::Tensor* shares = nullptr) const = 0;
};

// "gat", "sage", "gcn", "gin".
[[nodiscard]] std::shared_ptr<GraphLayer> make_graph_layer(const std::string& kind, const GraphLayerOptions& options,
                                                           const at::Generator& generator);
[[nodiscard]] std::vector<std::string> graph_layer_names();

// Rows divided by the root of the number of nodes of their graph (Dwivedi et al. 2020).
[[nodiscard]] at::Tensor graph_size_norm(const at::Tensor& x, const GraphBatch& batch);

// One row for each graph: "sum", "mean", "max" of the rows of its nodes.
[[nodiscard]] at::Tensor read_out(const std::string& how, const at::Tensor& x, const GraphBatch& batch);
[[nodiscard]] std::vector<std::string> readout_names();

// weight [outputs, inputs] and bias [outputs], as torch's linear layer starts.
struct LinearWeights {
  at::Tensor weight, bias;
};
[[nodiscard]] LinearWeights linear_weights(std::int64_t outputs, std::int64_t inputs, const at::Generator& generator);

}  // namespace latpred
