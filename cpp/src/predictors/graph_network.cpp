#include "predictors/graph_network.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/utils.h>

#include <span>
#include <string>

#include "predictors/column_scale.h"
#include "predictors/graph_loss.h"
#include "predictors/graph_sums.h"

namespace latpred {
namespace {

constexpr double kMillisecondsPerS = 1e3;
constexpr double kSmallestSum = 1e-15;  // of no terms that count

at::Tensor table_of(std::span<const double> values, std::int64_t columns) {
  const std::int64_t rows = columns == 0 ? 0 : static_cast<std::int64_t>(values.size()) / columns;
  return at::from_blob(const_cast<double*>(values.data()), {rows, columns}, at::kDouble);
}

// Logarithms of sizes, which may be 0.
at::Tensor input_scaled(const at::Tensor& values, const GraphConfig& config) {
  return config.input_scale == "log" ? values.sign() * values.abs().log1p() : values;
}

// The mean over what has a label.
at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& labels) {
  const at::Tensor count = labels.ne(kNoLabel).sum().clamp_min(1);
  return at::cross_entropy_loss(logits, labels, {}, at::Reduction::Sum, kNoLabel) / count;
}

}  // namespace

GraphNetwork::GraphNetwork(const GraphConfig& config, const GraphSizes& sizes, const at::Generator& generator)
    : config_(config), sizes_(sizes) {
  const torch::NoGradGuard no_grad;
  GraphLayerOptions options{
      .inputs = sizes.operators + sizes.node_columns + (config.joins_nodes() ? sizes.graph_columns : 0),
      .width = config.width,
      .heads = config.heads,
      .l2_norm = config.l2_norm};
  for (std::int64_t i = 0; i < config.layers; ++i) {
    layers_.push_back(
        register_module("layer_" + std::to_string(i), make_graph_layer(config.layer, options, generator)));
    options.inputs = config.width;
  }
  if (config.is_of_edges()) {
    lstm_input_ = add_linear("lstm_input", 4 * config.width, config.width, generator);
    lstm_state_ = add_linear("lstm_state", 4 * config.width, config.width, generator);
    output_ = add_linear("output", 2, config.width, generator);
  } else {
    std::int64_t inputs = (config.layers > 0 ? config.width : 0) + (config.joins_nodes() ? 0 : sizes.graph_columns);
    for (std::int64_t i = 0; i < config.dense_layers; ++i) {
      dense_.push_back(add_linear("dense_" + std::to_string(i), config.dense_width, inputs, generator));
      inputs = config.dense_width;
    }
    output_ = add_linear("output", sizes.targets + sizes.types, inputs, generator);
  }
  node_mean_ = register_buffer("node_mean", torch::zeros({sizes.node_columns}));
  node_deviation_ = register_buffer("node_deviation", torch::ones({sizes.node_columns}));
  column_mean_ = register_buffer("column_mean", torch::zeros({sizes.graph_columns}));
  column_deviation_ = register_buffer("column_deviation", torch::ones({sizes.graph_columns}));
  target_mean_ = register_buffer("target_mean", torch::zeros({sizes.targets}, torch::kDouble));
  target_deviation_ = register_buffer("target_deviation", torch::ones({sizes.targets}, torch::kDouble));
}

LinearWeights GraphNetwork::add_linear(const std::string& name, std::int64_t outputs, std::int64_t inputs,
                                       const at::Generator& generator) {
  const LinearWeights made = linear_weights(outputs, inputs, generator);
  return {register_parameter(name + "_weight", made.weight), register_parameter(name + "_bias", made.bias)};
}

void GraphNetwork::set_scale(const GraphTable& table) {
  const torch::NoGradGuard no_grad;
  set_column_scale(input_scaled(table_of(table.nodes, sizes_.node_columns), config_), node_mean_, node_deviation_);
  set_column_scale(input_scaled(table_of(table.columns, sizes_.graph_columns), config_), column_mean_,
                   column_deviation_);
  if (table.targets.empty() || config_.scale == "milliseconds") return;
  at::Tensor targets = table_of(table.targets, sizes_.targets);
  if (config_.scale == "log") {
    targets = (table.bases.empty() ? targets : targets / table_of(table.bases, sizes_.targets)).log();
  }
  const at::Tensor mean = targets.nanmean(0);
  const at::Tensor spread = (targets - mean).square().nanmean(0).sqrt();
  target_mean_.copy_(mean.nan_to_num(0));  // no row has a target that all lack
  target_deviation_.copy_(at::where(spread > kSmallestDeviation * mean.abs(), spread, 1.0));
}

at::Tensor GraphNetwork::columns_of(const GraphBatch& batch) const {
  return (input_scaled(batch.columns, config_) - column_mean_) / column_deviation_;
}

at::Tensor GraphNetwork::inputs_of(const GraphBatch& batch) const {
  std::vector<at::Tensor> parts;
  if (sizes_.operators > 0) parts.push_back(at::one_hot(batch.operators, sizes_.operators).to(at::kFloat));
  parts.push_back((input_scaled(batch.nodes, config_) - node_mean_) / node_deviation_);
  if (config_.joins_nodes()) parts.push_back(columns_of(batch).index_select(0, batch.graph));
  return at::cat(parts, 1);
}

at::Tensor GraphNetwork::embed(const GraphBatch& batch, const at::Generator* generator,
                               std::vector<at::Tensor>* shares) const {
  at::Tensor x = inputs_of(batch);
  const GraphEdges edges = graph_edges(batch.neighbours);
  for (const auto& layer : layers_) {
    at::Tensor share;
    x = layer->forward(x, edges, shares != nullptr ? &share : nullptr);
    if (share.defined()) shares->push_back(share);
    if (config_.size_norm) x = graph_size_norm(x, batch);
    x = rectified(x, config_.dropout, generator);
  }
  return x;
}

// Two steps of an LSTM over [producer, consumer], whose products with weights are made once for each node instead of
// twice for each edge: the first step hangs on the producer alone.
at::Tensor GraphNetwork::read_edges(const at::Tensor& x, const GraphBatch& batch) const {
  const at::Tensor from_input = at::linear(x, lstm_input_.weight, lstm_input_.bias);
  const auto gate = [&](const at::Tensor& gates, std::int64_t place) {
    return gates.narrow(1, place * config_.width, config_.width);
  };
  const at::Tensor first = from_input + lstm_state_.bias;  // the state before is 0
  const at::Tensor first_cell = at::sigmoid(gate(first, 0)) * at::tanh(gate(first, 2));
  const at::Tensor first_state = at::sigmoid(gate(first, 3)) * at::tanh(first_cell);
  const at::Tensor from_state = at::linear(first_state, lstm_state_.weight, lstm_state_.bias);
  const at::Tensor second = rows_at(from_input, batch.target) + rows_at(from_state, batch.source);
  const at::Tensor cell = at::sigmoid(gate(second, 1)) * rows_at(first_cell, batch.source) +
                          at::sigmoid(gate(second, 0)) * at::tanh(gate(second, 2));
  return at::linear(at::sigmoid(gate(second, 3)) * at::tanh(cell), output_.weight, output_.bias);
}

GraphOutputs GraphNetwork::forward(const GraphBatch& batch, const at::Generator* generator) const {
  if (config_.is_of_edges()) return {.edges = read_edges(embed(batch, generator, nullptr), batch)};
  std::vector<at::Tensor> parts;
  if (!layers_.empty()) parts.push_back(read_out(config_.readout, embed(batch, generator, nullptr), batch));
  if (!config_.joins_nodes()) parts.push_back(columns_of(batch));
  at::Tensor x = at::cat(parts, 1);
  for (const LinearWeights& dense : dense_) {
    x = rectified(at::linear(x, dense.weight, dense.bias), config_.dropout, generator);
  }
  x = at::linear(x, output_.weight, output_.bias);
  return {.targets = x.narrow(1, 0, sizes_.targets), .types = x.narrow(1, sizes_.targets, sizes_.types)};
}

at::Tensor GraphNetwork::scaled_targets(const GraphBatch& batch) const {
  if (config_.scale == "milliseconds") return batch.targets * kMillisecondsPerS;
  const at::Tensor values = config_.scale == "log" ? (batch.targets / batch.bases).log() : batch.targets;
  return (values - target_mean_) / target_deviation_;
}

at::Tensor GraphNetwork::targets_of(const GraphOutputs& outputs, const GraphBatch& batch) const {
  const at::Tensor values = outputs.targets.to(at::kDouble);
  if (config_.scale == "milliseconds") return values / kMillisecondsPerS;
  const at::Tensor whole = values * target_deviation_ + target_mean_;
  return config_.scale == "log" ? whole.exp() * batch.bases : whole;
}

at::Tensor GraphNetwork::loss(const GraphBatch& batch, const GraphOutputs& outputs) const {
  if (config_.is_of_edges()) return cross_entropy(outputs.edges, batch.fusible);
  const at::Tensor expected = scaled_targets(batch);
  const at::Tensor known = expected.isnan().logical_not();
  const at::Tensor residual = at::where(known, outputs.targets - expected.nan_to_num(0).to(at::kFloat), 0.0);
  at::Tensor loss = graph_loss_row(config_.loss).mean(residual, known.sum().clamp_min(1));
  if (config_.sum_weight > 0 && batch.sums.defined()) loss = loss + config_.sum_weight * loss_of_sums(batch, outputs);
  return sizes_.types > 0 && batch.types.defined() ? loss + cross_entropy(outputs.types, batch.types) : loss;
}

// Of logarithms, in the same deviations as each graph's.
at::Tensor GraphNetwork::loss_of_sums(const GraphBatch& batch, const GraphOutputs& outputs) const {
  const at::Tensor terms = targets_of(outputs, batch) * batch.counts.unsqueeze(1);
  const at::Tensor totals = at::zeros_like(batch.sums).index_add(0, batch.sum, terms).clamp_min(kSmallestSum);
  const at::Tensor known = batch.sums.isnan().logical_not();
  const at::Tensor off = (totals.log() - batch.sums.log().nan_to_num(0)) / target_deviation_;
  return graph_loss_row(config_.loss).mean(at::where(known, off, 0.0).to(at::kFloat), known.sum().clamp_min(1));
}

std::vector<at::Tensor> GraphNetwork::attention(const GraphBatch& batch) const {
  std::vector<at::Tensor> shares;
  (void)embed(batch, nullptr, &shares);
  return shares;
}

}  // namespace latpred
