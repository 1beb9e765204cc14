#pragma once

#include <memory>
#include <vector>

#include "batch/graph_batch.h"
#include "predictors/graph_config.h"
#include "predictors/graph_layers.h"

namespace latpred {

// What a network says of a batch, scaled as it was trained; only what its task has is defined.
struct GraphOutputs {
  at::Tensor edges;    // float [e, 2] logits: not fusible, fusible
  at::Tensor targets;  // float [b, T]
  at::Tensor types;    // float [b, K] logits
};

// The graph neural networks of Lilou and DIPPM. Layers with rectifiers give each node numbers; then
// task "edges": an LSTM reads producer and consumer of each edge, one linear layer says whether they fuse;
// task "graphs": a readout of each graph, dense layers, one linear layer for all targets and types.
//
// Takes columns and gives targets as they are: scaled inside, by buffers that are saved with the weights.
class GraphNetwork : public torch::nn::Module {
 public:
  GraphNetwork(const GraphConfig& config, const GraphSizes& sizes, const at::Generator& generator);

  // Takes the scales of columns and targets from checked rows.
  void set_scale(const GraphTable& table);

  // `generator` where training: values are dropped by it alone.
  [[nodiscard]] GraphOutputs forward(const GraphBatch& batch, const at::Generator* generator = nullptr) const;
  [[nodiscard]] at::Tensor loss(const GraphBatch& batch, const GraphOutputs& outputs) const;  // []
  // [b, T] in the targets' own units.
  [[nodiscard]] at::Tensor targets_of(const GraphOutputs& outputs, const GraphBatch& batch) const;
  // Of each layer with attention [e', heads], along graph_edges(batch.neighbours).looped.
  [[nodiscard]] std::vector<at::Tensor> attention(const GraphBatch& batch) const;

  [[nodiscard]] const GraphConfig& config() const { return config_; }
  [[nodiscard]] const GraphSizes& sizes() const { return sizes_; }

 private:
  [[nodiscard]] at::Tensor inputs_of(const GraphBatch& batch) const;
  [[nodiscard]] at::Tensor columns_of(const GraphBatch& batch) const;
  [[nodiscard]] at::Tensor embed(const GraphBatch& batch, const at::Generator* generator,
                                 std::vector<at::Tensor>* shares) const;
  [[nodiscard]] at::Tensor read_edges(const at::Tensor& x, const GraphBatch& batch) const;
  [[nodiscard]] at::Tensor loss_of_sums(const GraphBatch& batch, const GraphOutputs& outputs) const;
  [[nodiscard]] at::Tensor scaled_targets(const GraphBatch& batch) const;
  [[nodiscard]] LinearWeights add_linear(const std::string& name, std::int64_t outputs, std::int64_t inputs,
                                         const at::Generator& generator);

  GraphConfig config_;
  GraphSizes sizes_;
  std::vector<std::shared_ptr<GraphLayer>> layers_;
  LinearWeights lstm_input_, lstm_state_;  // [4 width, width]: input, forget, cell and output gates, as torch's
  std::vector<LinearWeights> dense_;
  LinearWeights output_;
  at::Tensor node_mean_, node_deviation_;      // [F]
  at::Tensor column_mean_, column_deviation_;  // [S]
  at::Tensor target_mean_, target_deviation_;  // double [T]
};

}  // namespace latpred
